"""YAML front matter at the very beginning of a Markdown file: found and stepped over, never loaded.

Only a plain `title:` line is read from it, so neither tags nor aliases can do anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLOSER = re.compile(r"\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_KEY = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*[\w\"'][^\n:]{0,100}:(?:[ \t\n]|\Z)")
_TITLE = re.compile(r"^title[ \t]*:[ \t]*([^\n]*)(?:\n[ \t]+([^\n]*))?", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """What stands at offset 0."""

    length: int  # characters, its closing line included
    title: str | None


def front_matter_of(text: str) -> FrontMatter | None:
    """The front matter that `text` begins with: `---`, at least one key, then `---` or `...` on a line of its own.

    None when there is none or it is not closed within `text`; its opening line is then a thematic break, as in
    CommonMark.
    """
    opener = re.match(r"---[ \t]*\n", text)
    if opener is None or not _KEY.match(text, opener.end()):
        return None
    closer = _CLOSER.search(text, opener.end() - 1)
    if closer is None:
        return None
    return FrontMatter(length=closer.end(), title=_title(text[opener.end() : closer.start()]))


def _title(matter: str) -> str | None:
    found = _TITLE.search(matter)
    if found is None:
        return None
    value = found[1].strip()
    if value[:1] in "|>" and len(value) <= 2:
        value = (found[2] or "").strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1].strip()
    return value or None
