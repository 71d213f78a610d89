"""Messages as kombu writes them for Redis, made many at a time.

Celery and kombu spend half a millisecond on each message, more than all else that is done for a cheap chunk. The form
of a message is therefore taken once from Celery itself, by sending one over a transport in memory; then only what
differs is filled in: ids, the body, the words for Flower. A test reads such a message back with kombu.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import orjson
from kombu.connection import Connection

from workers.tasks import run_task

_QUEUE = "octavo.form"
# What a worker takes as absent anyway: a message stays under 1 KB so.
_NOT_NEEDED = ("shadow", "group_index", "origin", "stamped_headers", "stamps", "replaced_task_nesting")

MOST_BYTES = 1024


class Envelope:
    """Makes messages of the form that this Celery gives them."""

    def __init__(self) -> None:
        with Connection("memory://") as connection:  # type: ignore[no-untyped-call]
            run_task.apply_async(args=[[0, 0]], task_id="form", queue=_QUEUE, connection=connection)
            form: dict[str, Any] = connection.default_channel.queues[_QUEUE].get_nowait()
        self._rest = orjson.loads(base64.b64decode(form["body"]))[1:]
        self._headers = {name: value for name, value in form["headers"].items() if name not in _NOT_NEEDED}
        self._properties = {
            name: value for name, value in form["properties"].items() if name not in ("reply_to", "argsrepr")
        }
        self._form = {name: value for name, value in form.items() if name not in ("body", "headers", "properties")}

    def message(self, queue: str, rung: Sequence[tuple[int, int]], words: str) -> bytes:
        """The message that rings for tasks, given as (id, dispatch); `words` are what Flower shows."""
        task_id = f"{rung[0][0]}.{rung[0][1]}"
        body = base64.b64encode(orjson.dumps([rung, *self._rest])).decode()
        headers = self._headers | {"id": task_id, "root_id": task_id, "argsrepr": words, "kwargsrepr": ""}
        properties = self._properties | {
            "correlation_id": task_id,
            "delivery_tag": task_id,
            "delivery_info": {"exchange": "", "routing_key": queue},
        }
        return orjson.dumps({**self._form, "body": body, "headers": headers, "properties": properties})
