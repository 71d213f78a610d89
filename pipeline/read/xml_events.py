"""XML as events, by expat: streamed, without a tree, and without any document type.

Office documents have none, so one that declares a document type or an entity is refused before anything can expand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO
from xml.parsers import expat

from pipeline.errors import ReadError

# Both spellings of the namespaces (ECMA-376 transitional and strict), and the prefix that stands for each here.
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp",
    "http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing": "wp",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://purl.org/dc/elements/1.1/": "dc",
}

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]


def parse_events(stream: BinaryIO, name: str, *, start: Start, end: End, text: Text) -> None:
    """Call back for each element and text. Names are "w:p" with the prefixes above; of others the local name.

    Raises ReadError when it is not well formed or declares a document type.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    known: dict[str, str] = {}

    def short(full: str) -> str:
        if full not in known:
            namespace, _, local = full.rpartition(" ")
            prefix = _PREFIXES.get(namespace)
            known[full] = f"{prefix}:{local}" if prefix else local
        return known[full]

    def on_start(full: str, attributes: dict[str, str]) -> None:
        start(short(full), {short(key): value for key, value in attributes.items()} if attributes else attributes)

    def on_doctype(*_: object) -> None:
        raise ReadError(f"{name} declares a document type, which no office document has; it was not read")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = lambda full: end(short(full))
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = on_doctype
    parser.EntityDeclHandler = on_doctype
    parser.buffer_text = True
    try:
        parser.ParseFile(stream)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise ReadError(f"{name} is damaged: its XML is not well formed ({error})") from error
