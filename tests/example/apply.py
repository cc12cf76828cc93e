# SPDX-License-Identifier: BSD-3-Clause
"""Makes the sources that docs/internals/adding-a-method.md describes. A block with file= is a file; a block
with into= goes into a copy of that file, before the first line that contains the word after before=.

usage: apply.py PAGE SOURCES INTO
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```cpp ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def insert(text: str, block: str, word: str) -> str:
    """Returns the text with the block inserted before the first line that contains the word."""
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if word in line]
    if not places:
        raise SystemExit(f"no line has {word!r}")
    return "".join([*lines[: places[0]], block, *lines[places[0] :]])


def main() -> None:
    """Writes the sources; see the top of this file."""
    page, sources, into = map(Path, sys.argv[1:])
    made: dict[str, str] = {}
    for head, block in BLOCK.findall(page.read_text()):
        words = dict(word.split("=", 1) for word in head.split())
        if "file" in words:
            made[words["file"]] = block
        else:
            name = words["into"]
            made[name] = insert(made.get(name) or (sources / name).read_text(), block, words["before"])
    for name, text in made.items():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
