"""Of which columns values found at run time are wanted, and that a long filter makes no long token."""

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.scan.planning import at_run_time
from lakescan.scan.settings import Settings
from tests.tables import DeltaBuilder

FILES = 10
SORTED: dict[str, tuple[pa.DataType, Any]] = {
    "int": (pa.int64(), lambda at: at),
    "text": (pa.string(), lambda at: f"{at:04d}"),
    "day": (pa.date32(), lambda at: date(2024, 1, 1) + timedelta(days=at)),
    "moment": (pa.timestamp("us", "UTC"), lambda at: datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(hours=at)),
    "exact": (pa.decimal128(12, 2), lambda at: Decimal(at) / 4),
    "double": (pa.float64(), lambda at: at / 2),
}


def table(root: Path, files: int = FILES, statistics: bool = True) -> DeltaBuilder:
    """Files of ten rows; every column of `SORTED` rises from file to file, `spread` and `flag` are alike in all."""
    schema = pa.schema(
        [(name, type_) for name, (type_, _) in SORTED.items()]
        + [("spread", pa.int64()), ("flag", pa.bool_()), ("p", pa.int32()), ("one", pa.int32())]
    )
    builder = DeltaBuilder(root, schema, ["p", "one"])
    for file in range(files):
        rows = range(file * 10, file * 10 + 10)
        columns = {name: pa.array([value(at) for at in rows], type_) for name, (type_, value) in SORTED.items()}
        spread = pa.array([at * 7919 % 1000 for at in range(0, 1000, 100)], pa.int64())
        rows_of_file = pa.table({**columns, "spread": spread, "flag": [at % 2 == 0 for at in rows]})
        stats: dict[str, Any] = {} if statistics else {"stats": {"numRecords": 10}}
        builder.append(rows_of_file, partition={"p": str(file % 3), "one": "1"}, **stats)
    return builder


def said_to_be_large(builder: DeltaBuilder) -> DeltaBuilder:
    """The same table, whose log says of each file that it has 60 MB: planning opens no file."""
    commits = sorted(Path(builder.path, "_delta_log").glob("*.json"))
    lines = [json.loads(line) for commit in commits for line in commit.open()]
    adds = [line["add"] for line in lines if "add" in line]
    builder.commit(*({"add": {**add, "size": 60_000_000}} for add in adds))
    return builder


def columns_of(builder: DeltaBuilder, **settings: bool) -> tuple[str, ...]:
    scan = lakescan.open(builder.path).snapshot().scan()
    return scan.with_settings(Settings(**settings)).build().runtime_columns


def test_values_are_wanted_of_columns_that_tell_files_apart(tmp_path: Path) -> None:
    assert columns_of(said_to_be_large(table(tmp_path))) == (*SORTED, "p")


def test_of_a_table_that_is_soon_read_values_are_wanted_where_there_can_be_no_long_list_of_them(tmp_path: Path) -> None:
    # Of a text, a moment or a fraction nobody knows how many there are between two bounds.
    assert columns_of(table(tmp_path)) == ("int", "day", "p")


@pytest.mark.parametrize(("step", "wanted"), [(100, True), (102, False)])
def test_keys_are_wanted_only_of_a_table_that_is_expensive_to_read(tmp_path: Path, step: int, wanted: bool) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("key", pa.int64())]))
    for file in range(FILES):
        keys = range(file * 10 * step, file * 10 * step + 10 * step, step)
        builder.append(pa.table({"key": pa.array(keys, pa.int64())}))
    # From the least to the greatest there are 9,901 and 10,099: no more than are looked at, and more.
    assert columns_of(builder) == (("key",) if wanted else ())
    assert columns_of(said_to_be_large(builder)) == ("key",)


def test_values_are_not_wanted_where_there_is_little_to_read(tmp_path: Path) -> None:
    assert columns_of(table(tmp_path, files=3)) == ()


def test_without_statistics_only_partitions_tell_files_apart(tmp_path: Path) -> None:
    assert columns_of(table(tmp_path / "none", statistics=False)) == ("p",)
    assert columns_of(table(tmp_path / "off"), skipping=False) == ("p",)


def test_no_values_are_wanted_where_runtime_filters_are_switched_off(tmp_path: Path) -> None:
    assert columns_of(table(tmp_path), runtime_filters=False) == ()


def test_a_few_files_without_statistics_do_not_hide_what_the_others_tell(tmp_path: Path) -> None:
    builder = table(tmp_path)
    more = {name: pa.array([value(500)], type_) for name, (type_, value) in SORTED.items()}
    row = pa.table({**more, "spread": pa.array([1], pa.int64()), "flag": [True]})
    builder.append(row, partition={"p": "1", "one": "1"}, stats={"numRecords": 1})
    assert columns_of(builder) == ("int", "day", "p")
    for _ in range(FILES * 2):
        builder.append(row, partition={"p": "1", "one": "1"}, stats={"numRecords": 1})
    assert columns_of(builder) == ("p",)


@pytest.mark.parametrize("column", SORTED)
def test_one_value_of_a_column_that_tells_files_apart_leaves_at_most_half_of_them(tmp_path: Path, column: str) -> None:
    plan = lakescan.open(table(tmp_path).path).snapshot().scan().build()
    value = SORTED[column][1](42)
    text = f"'{value}'" if not isinstance(value, (int, float, Decimal)) else str(value)
    typed = {"day": f"DATE{text}", "moment": f"TIMESTAMP{text}"}.get(column, text)
    assert at_run_time(plan, f"{column} = {typed}").planned.files.num_rows == 1


def test_thousands_of_values_make_no_long_token_and_tokens_still_differ(tmp_path: Path) -> None:
    plan = lakescan.open(table(tmp_path).path).snapshot().scan().build()

    def narrowed(last: int) -> Any:
        values = ", ".join(map(str, [*range(5000), last]))
        return at_run_time(plan, f"int IN ({values})").spec

    assert len(narrowed(9_000).token) < 1_000
    assert narrowed(9_000).token == narrowed(9_000).token
    assert narrowed(9_000).token != narrowed(9_001).token
    assert len(narrowed(9_000).description) < 3_000
