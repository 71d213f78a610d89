"""Where things are printed: results on stdout, progress and errors on stderr; book text never as markup or escapes."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import traceback
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline import canonical
from pipeline.errors import OctavoError, StorageError
from pipeline.ops.values import Json

UNWRAPPED = 10_000  # columns


@cache
def out() -> Console:
    """Results. Only a terminal has a width: what goes to a file or another program is never wrapped or cut."""
    width = None if sys.stdout.isatty() else UNWRAPPED
    return Console(highlight=False, soft_wrap=True, emoji=False, markup=False, width=width)


@cache
def err() -> Console:
    """Progress and errors."""
    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False, markup=False)


def safe(text: str) -> str:
    """Text for a terminal: line breaks as spaces, controls and direction marks shown as escapes."""
    parts = []
    for char in text:
        if char in "\n\t":
            parts.append(" ")
        elif _steers(char):
            parts.append(f"\\u{ord(char):04x}" if ord(char) > 0xFF else f"\\x{ord(char):02x}")
        else:
            parts.append(char)
    return "".join(parts)


def _steers(char: str) -> bool:
    """Could it move the cursor, colour the screen or turn the text around it? Joiners and soft hyphens can not."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in "\u00ad\u200c\u200d\u2060"


def safe_lines(text: str) -> str:
    """As `safe`, with the line breaks left in."""
    return "\n".join(safe(line) for line in text.splitlines())


def flush() -> None:
    """Write out what is left in buffers. Raises OSError when it can not be written, but not when nobody reads."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        _nobody_reads()


def let_go() -> None:
    """Let go of what stdout can not take, once that was told: the interpreter would say it again as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        _nobody_reads()


def for_terminal(data: bytes) -> bytes:
    """Lines of JSON or Markdown for a terminal: what could steer it as JSON writes it, so JSON stays the same value."""
    return _PERHAPS.sub(lambda found: _escaped(found[0]), data.decode(errors="replace")).encode()


_PERHAPS = re.compile(r"[^\n\t\x20-\x7e]")


def _escaped(char: str) -> str:
    if not _steers(char):
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def print_json(value: Json) -> None:
    """One JSON value on one line of stdout."""
    write(canonical.dumps(value) + b"\n")


def write(data: bytes) -> None:
    """Bytes to stdout, exactly; to a terminal without what could steer it.

    A reader that went away (`| head`) ends the process quietly, as other tools do.
    """
    try:
        sys.stdout.buffer.write(for_terminal(data) if sys.stdout.isatty() else data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _nobody_reads()
        raise SystemExit(0) from None


def _nobody_reads() -> None:
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_pieces(pieces: Iterable[bytes]) -> None:
    """Text on stdout, piece by piece."""
    for piece in pieces:
        write(piece)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table of plain text on stdout. What is not there (None, an empty list) is an empty cell."""
    grid = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        grid.add_row(*[Text(safe(_cell(value))) for value in row])
    out().print(grid)


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def note(text: str) -> None:
    """A line for the person who watches."""
    err().print(safe(text))


_tracebacks = threading.Event()


def show_tracebacks(wanted: bool) -> None:
    """From now on, show where errors come from. Never with the values of variables: they hold the text of books."""
    if wanted:
        _tracebacks.set()
    else:
        _tracebacks.clear()


def _wants_traceback() -> bool:
    from pipeline import settings  # what reads them takes longer to load than a line takes to print

    try:
        return _tracebacks.is_set() or settings.current({}).debug
    except OctavoError:  # the settings may be what is wrong
        return False


def complain(error: OctavoError) -> None:
    """An error as `error:`, `cause:` and `hint:` lines."""
    if _wants_traceback():
        err().print(Text(safe_lines(traceback.format_exc())))
    err().print(Text.assemble(("error: ", "bold red"), safe(error.message)))
    if error.cause:
        err().print(Text.assemble(("cause: ", "bold"), safe(error.cause)))
    if error.hint:
        err().print(Text.assemble(("hint: ", "bold"), safe(error.hint)))


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Pieces of text to a file, whole or not at all; a pipe or device takes them as they come. Raises StorageError."""
    partial = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                device.writelines(pieces)
            return
        with partial.open("wb") as file:
            file.writelines(pieces)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise StorageError(f"{path} can not be written: {error.strerror}") from error
