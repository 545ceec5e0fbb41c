"""What MkDocs is told beside `mkdocs.yml`: pages from outside `docs/`, and pages that the navigation does not name.

Links stay as they are on disk, where they lead from file to file. On the site a page from outside has another place, so
links to it and from it are rewritten; one to a file that is no page (a script, the licence) becomes its plain text.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "README.md",  # what the repository begins with, the site begins with its own
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "tests/data/README.md": "sample-tables.md",
}
PLACES = {place: source for source, place in OUTSIDE.items() if source != "README.md"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Puts every page of `docs/` that the navigation does not name under "More"."""
    pages = [path.name for path in sorted(Path(config.docs_dir).glob("*.md"))]
    config.nav = completed(config.nav or [], pages)
    return config


def completed(nav: list[Any], pages: list[str]) -> list[Any]:
    """A navigation with the pages that it does not name as its last part."""
    named = set(_leaves(nav))
    more = [page for page in pages if page not in named]
    return [*nav, {"More": more}] if more else nav


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Takes the pages from outside in."""
    from mkdocs.structure.files import File

    for place, source in PLACES.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Rewrites the links of one page."""
    source = PLACES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = CODE.split(markdown)
    return "".join(part if part.startswith("`") else rewritten(part, source) for part in parts)


def rewritten(text: str, source: str) -> str:
    """Text of a file of the repository with its links as the site has them."""

    def link(match: re.Match[str]) -> str:
        title, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path in OUTSIDE:
            return f"[{title}]({OUTSIDE[path]}{anchor})"
        if path.startswith("docs/") and path.endswith(".md"):
            return f"[{title}]({path.removeprefix('docs/')}{anchor})"
        if (ROOT / path).exists():
            return title
        return match[0]

    return LINK.sub(link, text)


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for value in nav.values():
            yield from _leaves(value)
    else:
        for item in nav:
            yield from _leaves(item)
