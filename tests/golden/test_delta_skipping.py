"""On the tables that Delta's kernel tests its data skipping with, no more files are kept than the kernel keeps.

The predicates and the files expected are those of `ScanSuite` in Delta's kernel (its table `part` and `id` test
names another table by mistake and is asked of the right one here).
"""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import lakescan
from lakescan.predicate import Predicate, col

ALL_TYPES = [
    "data-skipping-basic-stats-all-types",
    "data-skipping-basic-stats-all-types-columnmapping-name",
    "data-skipping-basic-stats-all-types-columnmapping-id",
    "data-skipping-basic-stats-all-types-checkpoint",
]
# column: the value in the table, a smaller one, a greater one
VALUES = {
    "as_int": (0, -1, 1),
    "as_long": (0, -1, 1),
    "as_byte": (0, -1, 1),
    "as_short": (0, -1, 1),
    "as_float": (0.0, -1.0, 1.0),
    "as_double": (0.0, -1.0, 1.0),
    "as_string": ("0", "!", "1"),
    "as_date": (date(2000, 1, 1), date(1999, 1, 1), date(2000, 1, 2)),
    "as_big_decimal": (Decimal(0), Decimal(-1), Decimal(1)),
}


def kept(golden: Path, table: str, predicate: Predicate) -> int:
    return len(lakescan.open(golden / "delta" / table).snapshot().scan().skip_unless(predicate).build().files())


@pytest.mark.parametrize("table", ALL_TYPES)
@pytest.mark.parametrize("column", VALUES)
def test_the_kernels_misses_are_misses_and_its_hits_are_hits(golden: Path, table: str, column: str) -> None:
    value, small, big = VALUES[column]
    name = col(column)
    misses = [name == small, name > value, name >= big, name < value, name <= small]
    hits = [name == value, name > small, name >= value, name < big, name <= value]
    assert [kept(golden, table, predicate) for predicate in misses] == [0] * 5
    assert [kept(golden, table, predicate) for predicate in hits] == [1] * 5


def test_a_literal_of_another_number_type_skips_as_in_the_kernel(golden: Path) -> None:
    table = ALL_TYPES[0]
    assert kept(golden, table, col("as_short") == 0.0) == kept(golden, table, col("as_float") == 0) == 1
    assert kept(golden, table, col("as_short") == 1.0) == kept(golden, table, col("as_float") == 1) == 0


def test_statistics_that_differ_from_version_to_version_keep_the_files_that_the_kernel_keeps(golden: Path) -> None:
    table = "data-skipping-change-stats-collected-across-versions"
    assert kept(golden, table, col("col1") == 1) == 1
    assert kept(golden, table, col("col2") == 1) == 2
    assert kept(golden, table, (col("col1") == 1) & (col("col2") == 1)) == 1


def test_two_columns_together_keep_the_one_file_that_the_kernel_keeps(golden: Path) -> None:
    assert kept(golden, "data-skipping-partition-and-data-column", (col("part") > 0) & (col("id") > 0)) == 1
