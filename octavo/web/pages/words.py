"""Numbers, times and states in words and signs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

# A state is never told by colour alone: each has a sign and a word.
SIGNS: Final = {
    "running": ("▸", "running"),
    "waiting": ("◷", "waiting"),
    "paused": ("‖", "paused"),
    "done": ("✓", "done"),
    "holes": ("◌", "finished with holes"),
    "failed": ("✕", "failed"),
    "cancelled": ("–", "cancelled"),
    "ready": ("·", "ready"),
    "blocked": ("·", "blocked"),
    "dispatched": ("·", "sent to a worker"),
    "leased": ("▸", "running"),
    "waiting_key": ("◷", "waits for an equal chunk"),
    "retrying": ("↻", "retrying"),
    "waived": ("◍", "waived"),
    "hole": ("◌", "hole"),
    "complete": ("✓", "complete"),
    "planning": ("▸", "planning"),
    "not begun": ("·", "not begun"),
    "hit": ("✓", "known: no call"),
    "queued": ("·", "sent or waiting for an equal chunk"),
    "fresh": ("✓", "fresh"),
    "stale": ("◷", "stale"),
    "dismissed": ("◍", "stale, dismissed"),
    "missing": ("◌", "not made yet"),
    "withdrawn": ("–", "withdrawn"),
    "new": ("·", "new"),
    "none": (" ", "not part of the step"),
}


def number(value: float | None) -> str:
    """A whole number with thin spaces between thousands."""
    return "–" if value is None else f"{int(value):,}".replace(",", "\u202f")


def money(micros: int | None) -> str:
    """Millionths of a currency, as much as is worth saying."""
    if not micros:
        return "0"
    whole = micros / 1_000_000
    return f"{whole:,.2f}" if whole >= 1 else f"{whole:.4f}"


def duration(seconds: float | None) -> str:
    """A duration in its two largest units."""
    if seconds is None:
        return "–"
    total = int(seconds)
    for size, name, below, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if total >= size:
            rest = total % size // below
            return f"{total // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{total} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def when(value: datetime | str | None) -> str:
    """A moment to the minute, in UTC."""
    if value is None:
        return "–"
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def at_ms(value: int | None) -> str:
    """A moment given in milliseconds, to the second, in UTC."""
    return "–" if value is None else datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def size(count: int) -> str:
    """Bytes."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def lines_of(citation: dict[str, object]) -> str:
    """The lines of a citation."""
    first, last = citation["start_line"], citation["end_line"]
    return f"line {first}" if first == last else f"lines {first}–{last}"


def plural(count: int, word: str) -> str:
    """A number and its word."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"
