"""What happens to a job, as it happens: server-sent events, replayed to one who comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from db.listed import Event
from octavo.web.access import Parts, Reader
from octavo.web.problems import Problem
from octavo.web.state import Web
from pipeline.states import JOB_ENDED
from workers.faces import jobs

router = APIRouter(tags=["jobs"])

PING_S = 15
REPLAY_MOST = 1000
WAITING_MOST = 32  # events that a slow viewer may be behind; more, and it is told to look anew

DESCRIPTION = """Server-sent events, about one a second while something changes. The id of each counts up from 1.

A client that comes back with `Last-Event-ID` gets what it missed; `reset` when that is no longer kept. `progress` and
`end` hold a JSON object: where the job stands, and the runs of its map that changed. 204: the job has ended, and the
client has seen all of it."""


@router.get(
    "/jobs/{job}/events",
    operation_id="watchJob",
    description=DESCRIPTION,
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events."},
        204: {"description": "The job has ended, and the client has seen all of it."},
    },
)
async def watch_job(
    job: UUID,
    request: Request,
    web: Parts,
    _: Reader,
    last_event_id: Annotated[str | None, Header(max_length=100, description="The id of the last event seen.")] = None,
) -> Response:
    """The events of a job."""
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 19 else None
    begun = await run_in_threadpool(_begin, web, job, last_event_id, seen)
    if begun is None:
        return Response(status_code=204)
    return StreamingResponse(_stream(web, job, request, begun), media_type="text/event-stream")


def _begin(web: Web, job: UUID, said: str | None, seen: int | None) -> list[bytes] | None:
    """What a viewer is told at once; None when the job has ended and there is nothing it has not seen."""
    with web.runtime.database.read() as rows:
        ended = jobs.get_job(rows, job).state in JOB_ENDED
        last = rows.web.last_event(job)
        first = rows.web.first_event(job) or 0
        if said is None or last is None:
            missed = [last] if last else []
        elif seen is None or seen < first - 1 or seen > last.sequence:
            return [b"event: reset\ndata: {}\n\n", as_bytes(last)]
        else:
            missed = rows.web.events(job, after=seen, limit=REPLAY_MOST)
    if ended and not missed and last is not None:
        return None
    return [as_bytes(event) for event in missed]


def as_bytes(event: Event) -> bytes:
    """An event as it goes over the wire."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.kind.encode(), event.data)


async def _stream(web: Web, job: UUID, request: Request, begun: list[bytes]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[Event] = asyncio.Queue(WAITING_MOST)

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(_put, waiting, event)

    yield b"retry: 2000\n\n"
    for data in begun:
        yield data
    if begun and b"\nevent: end\n" in begun[-1]:
        return
    web.hub.watch(job, tell)
    try:
        while not await request.is_disconnected():
            try:
                event = await asyncio.wait_for(waiting.get(), PING_S)
            except TimeoutError:
                yield b": ping\n\n"
                continue
            yield as_bytes(event)
            if event.kind == "end":
                return
    finally:
        web.hub.leave(job, tell)


def _put(waiting: asyncio.Queue[Event], event: Event) -> None:
    if waiting.full():
        waiting.get_nowait()  # all but the map is told anew by every event, and a viewer loads the map anew at the end
    waiting.put_nowait(event)


__all__ = ["Problem", "router"]
