"""The one error base of the project; each error's docstring is its default message."""

from __future__ import annotations

import re

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")  # control characters, and the other ends of a line


def one_line(text: str) -> str:
    """Words that may hold names out of a damaged file, as one line."""
    return _BREAKS.sub("\N{REPLACEMENT CHARACTER}", text)


class OctavoError(Exception):
    """Octavo could not go on."""

    def __init__(self, message: str | None = None, *, cause: str | None = None, hint: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.cause = cause
        self.hint = hint

    @property
    def message(self) -> str:
        """One sentence that names the thing which is wrong."""
        return str(self.args[0])


class UsageError(OctavoError):
    """The command or its options are not right."""


class NotFoundError(OctavoError):
    """There is no such thing."""


class SettingsError(UsageError):
    """The settings are not right."""


class ReadError(OctavoError):
    """The source could not be read as a book."""

    @property
    def message(self) -> str:
        """One line, whatever stands in the names that the source gives its parts."""
        return one_line(super().message)


class EmptyError(ReadError):
    """There is nothing to read in the source."""


class PipelineError(UsageError):
    """The pipeline is not right."""


class ModelError(OctavoError):
    """The model could not answer."""


class StorageError(OctavoError):
    """The state could not be read or written."""
