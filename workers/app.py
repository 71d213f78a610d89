"""The Celery app. Nothing here opens a connection: embedded mode runs the same task bodies by `apply`."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.backends.base import DisabledBackend

from workers.distributed.queues import QUEUES


class _App(Celery):  # type: ignore[misc]  # it ships no types
    def _get_backend(self) -> Any:
        # No result is ever stored. Celery would find the same class by reading the entry points of every installed
        # package, which takes longer than to plan a thousand chunks.
        return DisabledBackend(app=self, url=None)


app = _App("octavo", include=["workers.tasks", "workers.distributed.worker"])
app.conf.update(
    task_queues={name: {"exchange": name, "routing_key": name} for name in QUEUES},  # what plain `celery worker` serves
    task_ignore_result=True,
    result_backend_thread_safe=True,  # one idle backend serves all threads
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
