"""What the pages say of errors, settings, exit codes and tests is what the code says."""

import subprocess
import sys
from pathlib import Path

import pytest

from lakescan.formats.delta.log.protocol import SUPPORTED_FEATURES
from scripts import made_tables
from scripts.specification import SPECIFICATION, Feature

ROOT = Path(__file__).parent.parent.parent


def test_the_tables_of_the_pages_are_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "made_tables.py", "--check"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_a_feature_whose_test_is_gone_is_told_by_both_names(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Feature("Something", "It works.", ("test_errors.py::test_that_nobody_wrote",))
    monkeypatch.setattr(made_tables, "SPECIFICATION", {"All": (lost,)})
    with pytest.raises(LookupError, match=r"Something: there is no test test_errors.py::test_that_nobody_wrote"):
        list(made_tables.specification_rows())


def test_a_table_that_is_not_what_the_code_says_is_written_anew() -> None:
    page = "# Codes\n\n<!-- made: exit-codes -->\n\n| 0 | all went wrong |\n\n<!-- end -->\n\nMore.\n"
    made = made_tables.filled(page)
    assert "| 0 | all went well |" in made
    assert "all went wrong" not in made
    assert made.startswith("# Codes\n\n<!-- made: exit-codes -->\n")
    assert made.endswith("<!-- end -->\n\nMore.\n")
    assert made_tables.filled(made) == made


def test_every_reader_feature_that_is_read_is_in_the_specification() -> None:
    names = " ".join(feature.name for features in SPECIFICATION.values() for feature in features)
    missing = [name for name in SUPPORTED_FEATURES if f"`{name.removesuffix('-preview')}`" not in names]
    assert missing == []
