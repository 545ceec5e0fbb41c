"""Check the documentation: every relative link points at a file, every Python example compiles.

Prints each problem as `file:line: what is wrong` and fails if there is any. Needs only the standard library.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["*.md", "docs/**/*.md", "examples/*.md", "benchmarks/*.md", "tests/data/*.md"]
REQUIRED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)>\s]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s+(\S+)")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(\w*)")
CODE_SPAN = re.compile(r"`[^`]*`")


class Block(NamedTuple):
    """A run of lines: prose when `language` is None, else the inside of a fence."""

    language: str | None
    first_line: int
    lines: list[str]


def blocks(text: str) -> Iterator[Block]:
    fence = ""
    block = Block(None, 1, [])
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if match and not fence:
            yield block
            fence = match[1]
            block = Block(match[2].lower(), number + 1, [])
        elif match and fence and match[1].startswith(fence) and not match[2]:
            yield block
            fence = ""
            block = Block(None, number + 1, [])
        else:
            block.lines.append(line)
    yield block


def broken_links(page: Path, block: Block) -> Iterator[str]:
    for number, line in enumerate(block.lines, block.first_line):
        for match in LINK.finditer(CODE_SPAN.sub("", line)):
            target = (match[1] or match[2]).split("#")[0]
            if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):  # a place in this page, or another site
                continue
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}:{number}: the link {target} points at no file"


def broken_code(page: Path, block: Block) -> Iterator[str]:
    try:
        compile(textwrap.dedent("\n".join(block.lines)), str(page), "exec")
    except SyntaxError as error:
        line = block.first_line + (error.lineno or 1) - 1
        yield f"{page.relative_to(ROOT)}:{line}: the Python example does not compile: {error.msg}"


def problems(page: Path) -> Iterator[str]:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language is None:
            yield from broken_links(page, block)
        elif block.language in ("python", "py"):
            yield from broken_code(page, block)


def main() -> int:
    pages = sorted({page for pattern in PAGES for page in ROOT.glob(pattern)})
    complaints = [f"{name}: is missing" for name in REQUIRED if not (ROOT / name).is_file()]
    for page in pages:
        complaints += problems(page)
    for problem in complaints:
        print(problem)
    print(f"{len(pages)} pages checked, {len(complaints)} problems")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
