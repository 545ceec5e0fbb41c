"""Check that the version and the changelog speak of the same release.

The version is in `src/lakescan/__init__.py` alone. While it ends in `.dev0`, what is new stands under "Unreleased"; a
release has a section of its own, `## 1.2.3 (2026-01-31)`, on top of the changelog and nothing under "Unreleased".
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
UNRELEASED = "Unreleased"


def problem(version: str, changelog: str) -> str | None:
    """What keeps this version from being built, None where nothing does."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(\.dev0)?", version):
        return f"The version {version} is neither a release (1.2.3) nor on the way to one (1.2.3.dev0)."
    parts = SECTION.split(changelog)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    first = next(iter(sections), "")
    if version.endswith(".dev0"):
        released = {title.split()[0] for title in sections}
        if version.removesuffix(".dev0") in released:
            return f"CHANGELOG.md has {version.removesuffix('.dev0')} already: the next version is greater."
        return None if first == UNRELEASED else f"CHANGELOG.md does not begin with {UNRELEASED!r}."
    if sections.get(UNRELEASED, "").strip():
        return f"CHANGELOG.md has lines under {UNRELEASED!r}: they belong to {version}."
    newest = next((title for title in sections if title != UNRELEASED), "")
    if not re.fullmatch(re.escape(version) + r" \(\d{4}-\d{2}-\d{2}\)", newest):
        return f"The newest section of CHANGELOG.md is {newest!r}, not '{version} (year-month-day)'."
    return None


def version_of(module: str) -> str:
    """The version that the text of the package's `__init__` says."""
    (version,) = VERSION.findall(module)
    return str(version)


def main() -> int:
    version = version_of((ROOT / "src" / "lakescan" / "__init__.py").read_text(encoding="utf-8"))
    complaint = problem(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    print(complaint or f"version {version}")
    return 1 if complaint else 0


if __name__ == "__main__":
    sys.exit(main())
