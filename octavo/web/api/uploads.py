"""Books that come in: announced, sent in pieces, gone on with where a broken connection left off."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from db.listed import Upload
from octavo.web.access import Parts, Reader, Runner
from octavo.web.api import shapes
from octavo.web.api.jobs import operation
from octavo.web.problems import ProblemError, of_status
from octavo.web.state import Web
from pipeline.errors import StorageError
from pipeline.ids import uuid7
from pipeline.ops.values import Json
from workers.faces.child import spec_of
from workers.faces.tidy import arriving

router = APIRouter(tags=["uploads"])

NAME_MOST = 120
_ODD = re.compile(r"[^\w .,()'’«»–—-]+")

Offset = Annotated[int, Header(alias="Upload-Offset", ge=0, le=shapes.BIGGEST, description="Where this piece begins.")]


def safe_name(name: str) -> str:
    """A file name out of what a caller calls the book: one part of a path, without dots in front or odd signs.

    Raises ProblemError (422) when nothing is left of it.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    plain = _ODD.sub("_", last).strip(" .")
    stem, dot, suffix = plain.rpartition(".")
    if dot and len(suffix) <= 10:
        plain = f"{stem[: NAME_MOST - len(suffix) - 1]}.{suffix}"
    plain = plain[:NAME_MOST]
    while len(plain.encode()) > 240:  # what file systems take
        plain = plain[1:]
    if not plain.strip("._ "):
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", "The book needs a name", hint="such as novel.txt"
        )
    return plain


def partial(web: Web, upload_id: UUID) -> Path:
    """Where what has arrived of an upload lies."""
    return arriving(web.runtime, str(upload_id))


def received(web: Web, upload: Upload) -> int:
    """How many bytes of an upload have arrived."""
    if upload.operation_id is not None:
        return upload.size
    try:
        return partial(web, upload.id).stat().st_size
    except FileNotFoundError:
        return 0


def announce(web: Web, *, name: str, size: int, pipeline: str, start: bool) -> Upload:
    """Note that a book will come. Raises ProblemError (413, 422), PipelineError."""
    most = web.runtime.settings.upload_mb << 20
    if size > most:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "too-large",
            f"The book has {size} bytes, and {most} are allowed",
            hint="upload_mb in octavo.toml allows more",
        )
    spec_of(pipeline)
    made = uuid7()
    _make(partial(web, made).parent)
    with web.runtime.database.write() as rows:
        rows.web.add_upload(id=made, name=safe_name(name), size=size, pipeline=pipeline, start=start)
    return get(web, made)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"The folder for uploads can not be made: {error.strerror}") from error


def get(web: Web, upload_id: UUID) -> Upload:
    """An upload. Raises ProblemError (404)."""
    with web.runtime.database.read() as rows:
        found = rows.web.upload(upload_id)
    if found is None:
        raise of_status(404, f"There is no upload {upload_id}")
    return found


def row(web: Web, upload: Upload) -> dict[str, Json]:
    """An upload as it is shown."""
    return {
        "id": upload.id,
        "name": upload.name,
        "size": upload.size,
        "received": received(web, upload),
        "pipeline": upload.pipeline,
        "start": upload.start,
        "operation": upload.operation_id,
    }


async def take(web: Web, upload: Upload, offset: int, blocks: AsyncIterator[bytes]) -> None:
    """Add a piece. Raises ProblemError: 409 when it begins elsewhere, 413 when it holds more than was announced."""
    path = partial(web, upload.id)
    with path.open("ab") as file:
        at = file.seek(0, os.SEEK_END)
        if at != offset:
            raise ProblemError(
                HTTPStatus.CONFLICT,
                "offset",
                f"The piece begins at {offset}, and {at} bytes have arrived",
                hint="go on from there",
                headers={"Upload-Offset": str(at)},
            )
        async for block in blocks:
            at += len(block)
            if at > upload.size:
                raise ProblemError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    "too-large",
                    f"More came than the {upload.size} bytes announced",
                )
            await run_in_threadpool(file.write, block)


def finish(web: Web, upload: Upload) -> UUID:
    """All has arrived: put the file in its place and ask for the book to be read. Gives the operation."""
    final = web.uploads / upload.name
    source = partial(web, upload.id)
    try:
        source.touch()
        source.replace(final)
    except OSError as error:
        raise StorageError(f"The book could not be put in its place: {error.strerror}") from error
    what = {"path": str(final.absolute()), "name": upload.name, "pipeline": upload.pipeline, "start": upload.start}
    with web.runtime.database.write() as rows:
        made = operation(rows, "ingest", what)
        rows.web.end_upload(upload.id, made)
    web.hands.wake()
    return made


@router.post("/uploads", operation_id="announceUpload", status_code=201, response_model=shapes.Upload)
def announce_upload(body: shapes.NewUpload, response: Response, web: Parts, _: Runner) -> dict[str, Json]:
    """Announce a book by name and size. A book of the same name that is in already gets a new revision."""
    made = announce(web, name=body.name, size=body.size, pipeline=body.pipeline, start=body.start)
    if made.size == 0:
        finish(web, made)
    response.headers["Location"] = f"/v1/uploads/{made.id}"
    response.headers["Upload-Offset"] = "0"
    return row(web, get(web, made.id))


@router.get("/uploads/{upload}", operation_id="getUpload", response_model=shapes.Upload)
def get_upload(upload: UUID, response: Response, web: Parts, _: Reader) -> dict[str, Json]:
    """How much of a book has arrived, and the operation that reads it once all has."""
    found = row(web, get(web, upload))
    response.headers["Upload-Offset"] = str(found["received"])
    return found


@router.patch(
    "/uploads/{upload}",
    operation_id="sendPiece",
    response_model=shapes.Upload,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def send_piece(
    upload: UUID, request: Request, response: Response, web: Parts, _: Runner, offset: Offset
) -> dict[str, Json]:
    """Send a piece of a book, as it is. When the last has arrived, the book is read."""
    found = await run_in_threadpool(get, web, upload)
    if found.operation_id is not None:
        raise ProblemError(HTTPStatus.CONFLICT, "complete", "All of this upload has arrived already")
    await take(web, found, offset, request.stream())
    if received(web, found) == found.size:
        await run_in_threadpool(finish, web, found)
    found = await run_in_threadpool(get, web, upload)
    shown = row(web, found)
    response.headers["Upload-Offset"] = str(shown["received"])
    return shown


@router.delete("/uploads/{upload}", operation_id="dropUpload", status_code=204)
def drop_upload(upload: UUID, web: Parts, _: Runner) -> None:
    """Give up an upload. A book that is in stays."""
    found = get(web, upload)
    with web.runtime.database.write() as rows:
        rows.web.drop_upload(found.id)
    partial(web, found.id).unlink(missing_ok=True)
