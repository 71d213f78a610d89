"""The distributed mode side by side with plain Celery and DBOS, over one Redis and one PostgreSQL."""
