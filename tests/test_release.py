"""The version is said in one place, and the changelog goes with it."""

import re
from pathlib import Path

import pytest

import lakescan
from scripts.check_release import problem, version_of

ROOT = Path(__file__).parent.parent
UNRELEASED = "# Changelog\n\n## Unreleased\n\n- a thing\n"
RELEASED = "# Changelog\n\n## Unreleased\n\n## 1.2.0 (2026-01-31)\n\n- a thing\n\n## 1.1.0 (2025-12-01)\n\n- older\n"


def test_the_version_is_said_in_the_package_alone() -> None:
    module = (ROOT / "src" / "lakescan" / "__init__.py").read_text(encoding="utf-8")
    assert version_of(module) == lakescan.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project]")[1].split("\n[")[0]
    assert not re.search(r"^version\s*=", project, re.MULTILINE)


def test_the_changelog_of_this_checkout_goes_with_its_version() -> None:
    assert problem(lakescan.__version__, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) is None


@pytest.mark.parametrize(("version", "changelog"), [("1.2.0.dev0", UNRELEASED), ("1.2.0", RELEASED)])
def test_a_version_may_be_built_where_the_changelog_speaks_of_it(version: str, changelog: str) -> None:
    assert problem(version, changelog) is None


@pytest.mark.parametrize(
    ("version", "changelog", "says"),
    [
        ("1.2", RELEASED, "neither a release"),
        ("1.2.0rc1", RELEASED, "neither a release"),
        ("1.2.0", UNRELEASED, "they belong to 1.2.0"),
        ("1.3.0", RELEASED, "not '1.3.0 (year-month-day)'"),
        ("1.1.0", RELEASED, "not '1.1.0 (year-month-day)'"),
        ("1.2.0", RELEASED.replace(" (2026-01-31)", ""), "year-month-day"),
        ("1.2.0.dev0", RELEASED, "has 1.2.0 already"),
        ("1.3.0.dev0", RELEASED.replace("## Unreleased\n", ""), "does not begin with 'Unreleased'"),
    ],
)
def test_a_version_that_the_changelog_does_not_speak_of_is_not_built(version: str, changelog: str, says: str) -> None:
    assert says in (problem(version, changelog) or "")
