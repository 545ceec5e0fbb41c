"""The Python and SQL blocks of the documentation, which `tests/docs/test_examples.py` runs.

A block that cannot be run says why in the line before it: `<!-- not run: it needs a cluster -->`. The blocks of one
page run one after the other, as a reader would paste them; `spark` and `lakescan` are there.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from scripts.check_docs import ROOT, blocks

PAGES = ["README.md", "docs/**/*.md"]
LANGUAGES = {"python": "python", "py": "python", "sql": "sql"}
NOT_RUN = re.compile(r"<!-- not run: *(.*?) *-->")


@dataclass(frozen=True)
class Example:
    """One block: where it is, and what a reader would paste."""

    page: str
    line: int
    language: str
    code: str
    not_run: str | None
    """Why it is not run, None where it is."""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def examples(page: str, text: str) -> Iterator[Example]:
    """The blocks of a page, in its order."""
    reason = None
    for block in blocks(text):
        if block.language is None:
            last = next((line for line in reversed(block.lines) if line.strip()), "")
            match = NOT_RUN.fullmatch(last.strip())
            reason = match[1] if match else None
        elif block.language in LANGUAGES:
            code = textwrap.dedent("\n".join(block.lines))
            yield Example(page, block.first_line, LANGUAGES[block.language], code, reason)
            reason = None


def pages_with_examples() -> dict[str, list[Example]]:
    """Every page that has a block, by its path in the repository."""
    paths = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    names = {str(path.relative_to(ROOT)): path for path in paths}
    pages = {name: list(examples(name, path.read_text(encoding="utf-8"))) for name, path in names.items()}
    return {name: blocks for name, blocks in pages.items() if blocks}


def statements(sql: str) -> list[str]:
    """The statements of a block, each of which ends with a semicolon at the end of a line or before a comment."""
    lines = [re.sub(r"\s--\s.*$", "", line) for line in sql.splitlines()]
    return [statement.strip() for statement in re.split(r";\s*(?:\n|$)", "\n".join(lines)) if statement.strip()]


def paths_of_tests(text: str, replaced: dict[str, str]) -> str:
    """An example with the locations and instants that a reader would replace, replaced."""
    for written, real in replaced.items():
        text = text.replace(written, real)
    return text
