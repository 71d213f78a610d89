"""PDFs made in memory, for tests: text at places, labels and an outline."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[float, float, float, str]  # x, y, size in points, text in Latin-1


def pdf(pages: Sequence[Sequence[Row]], outline: Sequence[tuple[str, int]] = (), title: str = "") -> bytes:
    """A PDF of pages of rows; `outline` are titles with their pages, from 0."""
    objects: list[bytes] = []

    def add(body: str) -> int:
        objects.append(body.encode("latin-1"))
        return len(objects)

    catalog, tree, font = add(""), add(""), add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    numbers = []
    for rows in pages:
        drawn = "".join(f"BT /F {size} Tf {x} {y} Td ({_escaped(text)}) Tj ET\n" for x, y, size, text in rows)
        content = add(f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream")
        numbers.append(
            add(
                f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R"
                f"/Resources<</Font<</F {font} 0 R>>>>>>"
            )
        )
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects[tree - 1] = f"<</Type/Pages/Count {len(numbers)}/Kids[{kids}]>>".encode()
    entries = ""
    if outline:
        root = len(objects) + 1
        objects.append(b"")
        first = root + 1
        for place, (name, page) in enumerate(outline):
            following = f"/Next {first + place + 1} 0 R" if place + 1 < len(outline) else ""
            add(f"<</Title({_escaped(name)})/Parent {root} 0 R{following}/Dest[{numbers[page]} 0 R/Fit]>>")
        objects[root - 1] = f"<</First {first} 0 R/Last {len(objects)} 0 R/Count {len(outline)}>>".encode()
        entries = f"/Outlines {root} 0 R"
    objects[catalog - 1] = f"<</Type/Catalog/Pages {tree} 0 R{entries}>>".encode()
    info = add(f"<</Title({_escaped(title)})>>")
    return _file(objects, catalog, info)


def _file(objects: list[bytes], catalog: int, info: int) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    tail = b"trailer<</Size %d/Root %d 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        catalog,
        info,
        len(data),
    )
    return data + head + tail


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def column(
    lines: Sequence[str], *, top: float = 700, size: float = 10, leading: float = 12, x: float = 72
) -> list[Row]:
    """Lines one below the other."""
    return [(x, top - leading * number, size, line) for number, line in enumerate(lines)]
