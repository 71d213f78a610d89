"""The one error base of the project; each error's docstring is its default message."""

from __future__ import annotations


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


class EmptyError(ReadError):
    """There is nothing to read in the source."""


class PipelineError(UsageError):
    """The pipeline is not right."""


class ModelError(OctavoError):
    """The model could not answer."""


class StorageError(OctavoError):
    """The state could not be read or written."""
