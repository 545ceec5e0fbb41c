"""No module knows a format by name but the format's own folder and the list of formats."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import lakescan
from lakescan.formats.registry import FORMATS
from lakescan.scan.format import AnyFormat

SOURCE = Path(lakescan.__file__).parent
# A format's other names, and words of a log's layout. `timedelta` is Python's.
OTHER_WORDS = ("hoodie", "numRecords", "minValues", "maxValues", "tightBounds", "baseRowId", "rowTracking")
NAMES = re.compile(rf"(?<!time)({'|'.join([known.name for known in FORMATS] + list(OTHER_WORDS))})", re.IGNORECASE)
# Module -> why it may, and the code in which it does. In these modules docstrings, which users read, may name formats.
ALLOWED = {
    "lakescan": ("`install(claim_delta=…)` is public API", r"\bclaim_delta\b|(?<=claimed=)\['delta'\]"),
    "lakescan.formats.registry": ("it is the list", r"from \S+ import FORMAT as \w+|FORMATS: .*"),
}


def folder_of(known: AnyFormat) -> Path:
    """The folder of the package whose `format.py` exports the format."""
    exporting = import_module(known.open.__module__.rpartition(".")[0] + ".format")
    assert exporting.FORMAT is known
    return Path(str(exporting.__file__)).parent


FOLDERS = [folder_of(known) for known in FORMATS]
OUTSIDE = [
    path
    for path in sorted((*SOURCE.rglob("*.py"), *SOURCE.rglob("*.java")))
    if not any(path.is_relative_to(folder) for folder in FOLDERS)
]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def code_of(path: Path) -> str:
    """A module's code without docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_outside_the_formats_names_none(path: Path) -> None:
    allowed = ALLOWED.get(module_of(path))
    text = path.read_text(encoding="utf-8") if allowed is None else re.sub(allowed[1], "", code_of(path))
    assert [line for line in text.splitlines() if NAMES.search(line)] == []


def test_each_format_has_a_folder_of_its_own_below_the_package() -> None:
    assert len(set(FOLDERS)) == len(FORMATS)
    assert all(folder.is_relative_to(SOURCE) and folder != SOURCE for folder in FOLDERS)
    assert len(OUTSIDE) > 50


def test_every_exception_is_still_needed() -> None:
    for name, (_, allowed) in ALLOWED.items():
        (path,) = (path for path in OUTSIDE if module_of(path) == name)
        assert NAMES.search(code_of(path))
        assert re.search(allowed, code_of(path))
