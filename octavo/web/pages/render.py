"""Templates and what all pages share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from octavo.web.access import caller_of
from octavo.web.pages import words
from octavo.web.pages.plain import shown
from octavo.web.problems import ProblemError

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
SECTIONS = (
    ("/", "Home"),
    ("/documents", "Documents"),
    ("/jobs", "Jobs"),
    ("/holes", "Holes"),
    ("/views", "Views"),
    ("/search", "Search"),
    ("/cost", "Cost"),
    ("/workers", "Workers"),
    ("/settings", "Settings"),
)


@cache
def statics() -> dict[str, tuple[str, bytes]]:
    """(media type, content) of the files that come with the pages, by name."""
    folder = resources.files("octavo.web") / "static"
    found = {}
    for item in folder.iterdir():
        suffix = "." + item.name.rpartition(".")[2]
        if suffix in KINDS:
            found[item.name] = (KINDS[suffix], item.read_bytes())
    return found


@cache
def stamp() -> str:
    """Names this state of those files: their addresses change when they do, so they may be kept for ever."""
    joined = b"".join(name.encode() + data for name, (_, data) in sorted(statics().items()))
    return hashlib.sha256(joined).hexdigest()[:12]


@cache
def _environment() -> Environment:
    # Everything is escaped, whatever a template is called; what is not given is an error, not an empty place.
    made = Environment(
        loader=PackageLoader("octavo.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "book": book,
        "shown": shown,
        "uri": unquote,
        "json": lambda value: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value,
        "pretty": lambda value: shown(json.dumps(value, ensure_ascii=False, indent=2)),
        "number": words.number,
        "money": words.money,
        "duration": words.duration,
        "when": words.when,
        "at_ms": words.at_ms,
        "size": words.size,
        "lines": words.lines_of,
        "plural": words.plural,
    }
    made.globals |= {
        "signs": words.SIGNS,
        "static": lambda name: f"/static/{stamp()}/{name}",
        "sections": SECTIONS,
        "version": version("octavo"),
        "query": query,
    }
    return made


def compile_templates() -> None:
    """Have all templates ready."""
    made = _environment()
    for name in made.list_templates():
        made.get_template(name)


def book(text: object) -> Markup:
    """Text of a book or a model, isolated from the direction of the text around it."""
    return Markup("<bdi>{}</bdi>").format(shown(text))


def query(values: Mapping[str, Any], **more: Any) -> str:
    """A query string of the values that are given; `more` goes before them, None leaves one out."""
    joined = {**values, **more}
    pairs = [(name, value) for name, value in joined.items() if value not in (None, "", ())]
    return "?" + urlencode(pairs, doseq=True) if pairs else "?"


def render(request: Request, template: str, values: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
    """A page."""
    path = request.url.path
    here = max((at for at, _ in SECTIONS if path == at or (at != "/" and path.startswith(at))), default="", key=len)
    caller = getattr(request.state, "caller", None)
    text = (
        _environment()
        .get_template(template)
        .render(here=here, path=path, may_run=bool(caller and caller.may("run")), caller=caller, **values)
    )
    return HTMLResponse(text, status)


def error_page(request: Request, error: ProblemError) -> Response:
    """An error as a page; who has not entered yet is asked to."""
    if error.status == 401:
        return render(request, "enter.html", {"code": None, "wrong": None}, status=401)
    if caller_of_quietly(request) is None:
        request.state.caller = None
    made = render(request, "error.html", {"problem": error.problem}, status=error.status.value)
    made.headers.update(error.headers)
    return made


def caller_of_quietly(request: Request) -> Any:
    """Who asks, if that can be found out while something is wrong."""
    try:
        return caller_of(request)
    except Exception:  # noqa: BLE001  # the database may be what is wrong: the error page must come all the same
        return None


__all__ = ["error_page", "escape", "render", "statics"]
