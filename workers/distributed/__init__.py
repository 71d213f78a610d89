"""Distributed mode: Celery workers over Redis, PostgreSQL as the truth, the broker as a doorbell."""
