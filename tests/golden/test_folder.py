"""Whether the golden tables are there at all."""

import os

import pytest

from tests.golden import GOLDEN, TABLES


def test_the_golden_tables_are_where_the_variable_says() -> None:
    if not os.environ.get("LAKESCAN_GOLDEN"):
        pytest.skip("LAKESCAN_GOLDEN names no folder of golden tables: this additional suite is left out")
    assert TABLES, f"no golden tables at {GOLDEN}, which LAKESCAN_GOLDEN names"
    assert list((GOLDEN / "hudi").glob("*.zip"))
