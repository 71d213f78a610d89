"""One source brought in, whatever comes of it: an error is an outcome and ends no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

from db.database import Database
from pipeline.errors import OctavoError, ReadError, StorageError
from workers.ingest.find import Found
from workers.ingest.ingest import Cutting, Ingested, ingest


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A source that is not in, and why: the lines of an error."""

    found: Found
    message: str
    cause: str | None
    hint: str | None
    error: type[OctavoError] = ReadError

    @property
    def is_storage(self) -> bool:
        """The state could not be written: no other source could be stored either."""
        return issubclass(self.error, StorageError)

    @classmethod
    def of(cls, found: Found, error: OctavoError) -> Self:
        """The outcome that an error is."""
        return cls(
            found=found,
            message=error.message,
            cause=error.cause,
            hint=error.hint,
            error=type(error),
        )


Attempt: TypeAlias = Ingested | Failed


def attempt(
    database: Database, found: Found, cutting: Cutting, *, encoding: str | None, collection: str = "default"
) -> Attempt:
    """Bring a source in, or say why it is not."""
    try:
        return ingest(database, found, cutting, encoding=encoding, collection=collection)
    except OctavoError as error:
        return Failed.of(found, error)
    except (MemoryError, RecursionError) as error:
        what = "more memory than there is" if isinstance(error, MemoryError) else "deeper nesting than can be read"
        return Failed(found=found, message=f"{found.name} needs {what}", cause=None, hint=None)
    except Exception as error:  # noqa: BLE001  # the others are to be read all the same; a fault is told as one
        cause = f"{type(error).__name__}: {error}"
        hint = "this is a fault of Octavo: octavo --debug ingest with this file alone shows where"
        return Failed(
            found=found, message=f"{found.name} met something unexpected", cause=cause, hint=hint, error=OctavoError
        )
