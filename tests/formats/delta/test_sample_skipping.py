"""Statistics that Delta Spark wrote skip a file exactly where its values cannot match."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import lakescan
from lakescan.predicate import Predicate, col

Sample = Callable[[str], Path]
ALL_TYPES = ["skipping", "skipping_mapped_by_name", "skipping_mapped_by_id", "skipping_checkpoint"]
# column: the value in the table, a smaller one, a greater one
VALUES = {
    "a_byte": (1, 0, 2),
    "a_short": (2, 1, 3),
    "a_int": (3, 2, 4),
    "a_long": (4, 3, 5),
    "a_float": (1.5, 1.0, 2.0),
    "a_double": (2.5, 2.0, 3.0),
    "a_string": ("text", "tex", "texts"),
    "a_date": (date(2020, 2, 29), date(2020, 2, 28), date(2020, 3, 1)),
    "a_decimal": (Decimal("123456789.125"), Decimal("123456789.124"), Decimal("123456789.126")),
}


def kept(sample: Sample, table: str, predicate: Predicate) -> int:
    return len(lakescan.open(sample(table)).snapshot().scan().skip_unless(predicate).build().files())


@pytest.mark.parametrize("table", ALL_TYPES)
@pytest.mark.parametrize("column", VALUES)
def test_a_file_is_kept_where_its_one_value_matches_and_only_there(sample: Sample, table: str, column: str) -> None:
    value, small, big = VALUES[column]
    name = col(column)
    misses = [name == small, name > value, name >= big, name < value, name <= small]
    hits = [name == value, name > small, name >= value, name < big, name <= value]
    assert [kept(sample, table, predicate) for predicate in misses] == [0] * 5
    assert [kept(sample, table, predicate) for predicate in hits] == [1] * 5


def test_a_literal_of_another_number_type_skips(sample: Sample) -> None:
    assert kept(sample, "skipping", col("a_short") == 2.0) == kept(sample, "skipping", col("a_float") == 1.5) == 1
    assert kept(sample, "skipping", col("a_short") == 3.0) == kept(sample, "skipping", col("a_float") == 2) == 0


def test_files_without_statistics_of_a_column_are_kept(sample: Sample) -> None:
    """One file has none, one of the first column, one of both."""
    assert kept(sample, "skipping_changed", col("col1") == 2) == 2
    assert kept(sample, "skipping_changed", col("col2") == 2) == 3
    assert kept(sample, "skipping_changed", (col("col1") == 2) & (col("col2") == 3)) == 1


def test_partition_and_statistics_together_keep_one_file_of_four(sample: Sample) -> None:
    assert kept(sample, "skipping_partitioned", (col("part") > 0) & (col("id") > 0)) == 1
