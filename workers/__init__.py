"""Execution: the Celery app and its tasks, ingest, planning, dispatch, leases, the embedded runner."""
