"""The Celery app. Nothing here opens a connection: embedded mode runs the same task bodies by `apply`."""

from __future__ import annotations

from celery import Celery

from workers.distributed.queues import QUEUES

app = Celery("octavo", include=["workers.tasks", "workers.distributed.worker"])
app.conf.update(
    task_queues={name: {"exchange": name, "routing_key": name} for name in QUEUES},  # what plain `celery worker` serves
    task_ignore_result=True,
    # No result is ever stored, so one idle backend serves all threads; else Celery looks through the entry points of
    # every installed package once for each.
    result_backend_thread_safe=True,
    task_acks_late=False,  # nothing depends on it: the database knows what was lost, the broker is a doorbell
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # Their defaults, said here: Celery asks for them at every task, and what is set is found without a search.
    task_inherit_parent_priority=False,
    worker_deduplicate_successful_tasks=False,
)
