"""Text of books and models as text: nothing in it can steer the page around it."""

from __future__ import annotations

import re

# Marks that change the direction of what comes after them, until another mark ends it: shown, not obeyed. The plain
# left-to-right and right-to-left marks stay: they reach no further than their neighbours.
_BIDI = {
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
}
_TABLE: dict[int, str] = {code: f"⟨{name}⟩" for code, name in _BIDI.items()}
_TABLE |= {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_TABLE |= dict.fromkeys((127,), "␡") | {code: f"⟨{code:02X}⟩" for code in range(0x80, 0xA0)}
_TABLE |= dict.fromkeys((65534, 65535), "�")
_ODD = re.compile("[" + "".join(re.escape(chr(code)) for code in _TABLE) + "\ud800-\udfff]")


def shown(text: object) -> str:
    """Text in which controls and marks of direction are seen instead of obeyed."""
    said = str(text)
    if not _ODD.search(said):
        return said
    return _ODD.sub(lambda found: _TABLE.get(ord(found[0]), "�"), said)
