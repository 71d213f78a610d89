"""What happens to a job, as it happens: server-sent events, replayed to one who comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from db.listed import Event
from db.repositories.notes import NOTE
from octavo.web.access import Parts, Reader
from octavo.web.problems import Problem
from octavo.web.state import Web
from pipeline.states import JOB_ENDED
from workers.faces import jobs

router = APIRouter(tags=["jobs"])

PING_S = 15
REPLAY_MOST = 1000
WAITING_MOST = 32  # events that a slow viewer may be behind; more, and it is told to look anew

RESET = b"event: reset\ndata: {}\n\n"

DESCRIPTION = """Server-sent events, about one a second while something changes. The id of each counts up from 1.

A client that comes back with `Last-Event-ID` gets what it missed; `reset` when that is no longer kept. `progress` and
`end` hold a JSON object: where the job stands, and the runs of its map that changed. `note` says what happened:
`{"state", "says"}`. 204: the job has ended, and the
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
    begun = await run_in_threadpool(_begin, web, job, last_event_id)
    if begun is None:
        return Response(status_code=204)
    return StreamingResponse(_stream(web, job, request, begun), media_type="text/event-stream")


def _number(said: str | None) -> int | None:
    """The number in a `Last-Event-ID`, if it is one of ours. It is a string, and may hold anything."""
    return int(said) if said and said.isascii() and said.isdecimal() and len(said) < 19 else None


def _begin(web: Web, job: UUID, said: str | None) -> list[bytes] | None:
    """What a viewer is told at once; None when the job has ended and there is nothing it has not seen."""
    seen = _number(said)
    with web.runtime.database.read() as rows:
        ended = jobs.get_job(rows, job).state in JOB_ENDED
        last = rows.web.last_event(job)
        stood = rows.web.last_event(job, notes=False)
        first = rows.web.first_event(job) or 0
        if said is None or last is None:
            missed = [stood] if stood else []
        elif seen is None or seen < first - 1 or seen > last.sequence:
            return [RESET, *_told([stood] if stood else [], ended)]
        else:
            missed = rows.web.events(job, after=seen, limit=REPLAY_MOST)
    if ended and not missed and stood is not None and stood.kind == "end":
        return None
    return _told(missed, ended)


def _told(found: list[Event], ended: bool) -> list[bytes]:
    """Events as they go over the wire. A job may go on after an end, when its holes are retried: that was none then."""
    last = max((at for at, event in enumerate(found) if event.kind != NOTE), default=-1)
    return [
        as_bytes(event if event.kind != "end" or (ended and at == last) else replace(event, kind="progress"))
        for at, event in enumerate(found)
    ]


def as_bytes(event: Event) -> bytes:
    """An event as it goes over the wire."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.kind.encode(), event.data)


class _Viewer:
    """What waits to be sent to one viewer: a bounded queue. Who is too far behind is told to look anew."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(WAITING_MOST)
        self._missed = False

    def put(self, event: Event) -> None:
        """Add an event; where there is no room the oldest goes, and the viewer will be told so."""
        if self._waiting.full():
            self._waiting.get_nowait()
            self._missed = True
        self._waiting.put_nowait(event)

    async def next(self) -> Event:
        """The next event, once there is one."""
        return await self._waiting.get()

    def reset(self) -> bytes:
        """What is sent before an event to one who missed some: the map is to be loaded anew."""
        missed, self._missed = self._missed, False
        return RESET if missed else b""


async def _stream(web: Web, job: UUID, request: Request, begun: list[bytes]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    viewer = _Viewer()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(viewer.put, event)

    yield b"retry: 2000\n\n"
    for data in begun:
        yield data
    if begun and b"\nevent: end\n" in begun[-1]:
        return
    web.hub.watch(job, tell)
    try:
        while not await request.is_disconnected():
            try:
                event = await asyncio.wait_for(viewer.next(), PING_S)
            except TimeoutError:
                yield b": ping\n\n"
                continue
            yield viewer.reset() + as_bytes(event)
            if event.kind == "end":
                return
    finally:
        web.hub.leave(job, tell)


__all__ = ["Problem", "router"]
