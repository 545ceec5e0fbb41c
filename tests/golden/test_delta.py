"""Every golden Delta table reads as its log and an independent reader say, or fails with the error it must give.

The independent reader is the `deltalake` package (delta-rs and DataFusion). Where it cannot read a table, the answer
is derived here from the table's data files as plain Parquet, by hand-written rules that share no code with Lakescan.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan import errors
from tests.formats.delta.test_history import _rows as history_rows
from tests.formats.delta.test_protocol import CATALOG_MANAGED, SUPPORTED, reader_features
from tests.golden import EMPTIED, EXPECTED, GOLDEN, REFUSED, TABLES, WITHOUT_DATA
from tests.tables import open_delta


def _read(table: str) -> tuple[Any, pa.Table]:
    snapshot = lakescan.open(GOLDEN / "delta" / table).snapshot()
    return snapshot, snapshot.scan().build().to_arrow()


def _deltalake(table: str, version: int | None = None) -> pa.Table:
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(GOLDEN / "delta" / table), version))
    return pa.table(query.execute("SELECT * FROM t"))


def _live_files(table: str) -> list[str]:
    """The files that a log of commits alone keeps alive: no checkpoints, no deletion vectors."""
    live: dict[str, None] = {}
    for commit in sorted((GOLDEN / "delta" / table / "_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            if "add" in action:
                live[action["add"]["path"]] = None
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
    return [str(GOLDEN / "delta" / table / unquote(path)) for path in live]


def _by_duckdb(table: str, query: str) -> pa.Table:
    return duckdb.connect().sql(query.format(files=_live_files(table))).to_arrow_table()


def _unwidened() -> pa.Table:
    """DuckDB reads each file in its own type and unites them by name; only then are they cast to the table's."""
    casts = {
        "byte_long": "BIGINT",
        "int_long": "BIGINT",
        "float_double": "DOUBLE",
        "byte_double": "DOUBLE",
        "short_double": "DOUBLE",
        "int_double": "DOUBLE",
        "decimal_decimal_same_scale": "DECIMAL(20,2)",
        "decimal_decimal_greater_scale": "DECIMAL(20,5)",
        "byte_decimal": "DECIMAL(11,1)",
        "short_decimal": "DECIMAL(11,1)",
        "int_decimal": "DECIMAL(11,1)",
        "long_decimal": "DECIMAL(21,1)",
        "date_timestamp_ntz": "TIMESTAMP",
    }
    columns = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in casts.items())
    files = _live_files("type-widening")
    union = " UNION ALL ".join(f"SELECT {columns} FROM read_parquet('{file}')" for file in files)
    return duckdb.connect().sql(union).to_arrow_table()


def _plain_parquet(table: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in _live_files(table)], promote_options="permissive")


# Tables that deltalake cannot read, and who says instead what is in them.
DERIVED: dict[str, Callable[[], pa.Table]] = {
    # No partition, no deletion vector, no mapping: the rows are those of the live files.
    "basic-with-vacuum-protocol-check-feature": lambda: _by_duckdb(
        "basic-with-vacuum-protocol-check-feature", "SELECT * FROM read_parquet({files})"
    ),
    # The table allows shredding, but no file of it is shredded: value and metadata are as they are in the files.
    "spark-shredded-variant-preview-delta": lambda: _plain_parquet("spark-shredded-variant-preview-delta"),
    "type-widening": _unwidened,
    "type-widening-nested": lambda: _plain_parquet("type-widening-nested"),
}


_LISTS = (REFUSED, WITHOUT_DATA, EMPTIED, DERIVED)


def _normal(value: Any) -> Any:
    """A value that compares and hashes: NaN equal to itself, structs without an order of fields."""
    if isinstance(value, dict):
        return tuple(sorted((key, _normal(inside)) for key, inside in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_normal(inside) for inside in value)
    if isinstance(value, float):
        return "NaN" if value != value else (value, str(value))
    return value


def _rows(table: pa.Table) -> Counter[Any]:
    return Counter(map(_normal, table.to_pylist()))


def assert_same_rows(got: pa.Table, expected: pa.Table) -> None:
    assert sorted(got.column_names) == sorted(expected.column_names)
    expected = expected.select(got.column_names)
    if got.num_rows > 10_000 and not any(pa.types.is_nested(field.type) for field in got.schema):
        order = [(name, "ascending") for name in got.column_names]
        assert got.sort_by(order).equals(expected.cast(got.schema).sort_by(order))
        return
    for name in got.column_names:
        kind = got.schema.field(name).type
        if pa.types.is_timestamp(kind) or pa.types.is_decimal(kind):
            assert expected.schema.field(name).type == kind, name
    assert _rows(got) == _rows(expected)


@pytest.mark.parametrize("table", TABLES)
def test_a_golden_table_reads_as_an_independent_reader_says(table: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if table in REFUSED:
            kind, part = REFUSED[table]
            with pytest.raises(kind, match=part) as refusal:
                _read(table)
            assert type(refusal.value) is kind
            return
        if table in WITHOUT_DATA:
            version, paths = WITHOUT_DATA[table]
            snapshot = lakescan.open(GOLDEN / "delta" / table).snapshot()
            listed = snapshot.scan().build().files()["path"].to_pylist()
            assert (snapshot.version, sorted(listed)) == (
                version,
                sorted(f"{snapshot.location}/{path}" for path in paths),
            )
            with pytest.raises(errors.MissingDataFile):
                _read(table)
            return
        snapshot, got = _read(table)
    expected = EXPECTED[table]
    if table in EMPTIED:
        assert not expected.get("opens", True)
        assert (snapshot.version, snapshot.num_files, got.num_rows) == (1, 0, 0)
        return
    assert (snapshot.version, snapshot.num_files) == (expected["version"], expected["files"])
    if expected["rows"] is not None:
        assert got.num_rows == expected["rows"]
    assert_same_rows(got, DERIVED[table]() if table in DERIVED else _deltalake(table))


def test_the_lists_name_only_tables_that_are_there_and_none_twice() -> None:
    named = [table for listed in _LISTS for table in listed]
    assert len(named) == len(set(named))
    assert set(named) <= set(TABLES)
    assert set(TABLES) == set(EXPECTED)


_READ_BY_BOTH = [table for table in TABLES if not any(table in listed for listed in _LISTS)]


@pytest.mark.parametrize("table", _READ_BY_BOTH)
def test_the_versions_before_a_golden_tables_newest_read_as_deltalake_reads_them(table: str) -> None:
    """Where deltalake cannot read one, because files or commits of it are gone, Lakescan says that they are."""
    opened = open_delta(GOLDEN / "delta" / table)
    newest = opened.snapshot().version
    for version in range(max(0, newest - 6), newest):
        try:
            expected = _deltalake(table, version)
        except Exception:
            with pytest.raises((errors.MissingDataFile, errors.VersionNotFound)):
                opened.snapshot(version).scan().build().to_arrow()
            continue
        assert_same_rows(opened.snapshot(version).scan().build().to_arrow(), expected)


def test_the_variant_table_whose_files_lost_their_prefix_reads_whole_when_they_have_it_again(tmp_path: Path) -> None:
    table = "spark-variant-stable-feature-checkpoint"
    for file in (GOLDEN / "delta" / table).iterdir():
        name = f"test%file%prefix-{file.name}" if file.name.startswith("part-") else file.name
        (tmp_path / name).symlink_to(file)
    got = lakescan.open(tmp_path).snapshot().scan().build().to_arrow()
    expected = pa.table(
        deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(tmp_path))).execute("SELECT * FROM t")
    )
    assert got.num_rows == EXPECTED[table]["rows"]
    assert_same_rows(got, expected)


def test_every_reader_feature_of_the_golden_tables_is_in_one_of_the_lists() -> None:
    features = reader_features(GOLDEN / "delta" / table for table in TABLES)
    assert features
    assert features <= {*SUPPORTED, *CATALOG_MANAGED}


def test_parameters_of_any_type_are_text(golden: Path) -> None:
    root = golden / "delta" / "commit-info-containing-arbitrary-operationParams-types"
    ours = history_rows(lakescan.open(root).history())
    theirs = deltalake.DeltaTable(root).history()
    assert [row["version"] for row in ours] == [row["version"] for row in theirs]
    for row, other in zip(ours, theirs, strict=True):
        assert row["operation"] == other["operation"]
        raw = json.loads((root / "_delta_log" / f"{row['version']:020d}.json").read_text().splitlines()[0])
        parameters = raw["commitInfo"]["operationParameters"]
        assert row["operationParameters"].keys() == parameters.keys()
        for key, value in parameters.items():
            text = row["operationParameters"][key]
            assert text == value if value is None or isinstance(value, str) else json.loads(text) == value
    kinds = {
        type(value)
        for file in sorted((root / "_delta_log").glob("*.json"))
        for value in json.loads(file.read_text().splitlines()[0])["commitInfo"]["operationParameters"].values()
    }
    assert kinds - {str}, "the table has parameters that are not text"
