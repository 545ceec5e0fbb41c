"""Slices whose base and log files differ in their schemas, and other hard merges: as Hudi on Spark reads them.

`tests/data/hudi/make_merges.py` wrote the tables with Hudi.
"""

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptDataFile
from lakescan.formats.hudi.engine import SchemasDiffer
from lakescan.formats.hudi.index.avro_records import avro_rows
from tests.expected import in_order, plain_rows
from tests.sample_tables import SampleTable, sample_table, sample_tables

from .tables import rows_of

NAMES = [table.name for table in sample_tables("hudi") if table.name.endswith(("_avro", "_parquet"))]


@pytest.fixture(params=NAMES)
def made(request: pytest.FixtureRequest) -> SampleTable:
    return sample_table(request.param)


def test_rows_are_merged_as_hudi_merges_them(made: SampleTable, tmp_path: Path) -> None:
    snapshot = lakescan.open(made.unpack(tmp_path)).snapshot()
    assert in_order(plain_rows(snapshot.scan().build().to_arrow())) == in_order(made.rows)
    for name in made.rows[0]:
        alone = snapshot.scan().select(name).build().to_arrow()
        assert in_order(plain_rows(alone)) == in_order([{name: row[name]} for row in made.rows]), name


@pytest.mark.parametrize("kind", ["avro", "parquet"])
def test_a_renamed_column_is_followed_when_the_commit_that_renamed_it_has_been_archived(
    kind: str, tmp_path: Path
) -> None:
    made = sample_table(f"renamed_{kind}")
    table = made.unpack(tmp_path)
    timeline = table / ".hoodie" / "timeline"
    completed = sorted(path for path in timeline.iterdir() if path.suffix in (".commit", ".deltacommit"))
    # All but the newest: the insert and the ALTER TABLE among them.
    for path in completed[:-1]:
        for one in timeline.glob(f"{path.name[:17]}*"):
            one.unlink()
    rows = lakescan.open(table).snapshot().scan().build().to_arrow()
    assert in_order(plain_rows(rows)) == in_order(made.rows)


def test_a_filter_is_applied_after_merging(made: SampleTable, tmp_path: Path) -> None:
    snapshot = lakescan.open(made.unpack(tmp_path)).snapshot()
    for ts in {row["ts"] for row in made.rows}:
        rows = snapshot.scan().filter(lakescan.col("ts") == ts).select("id").build().to_arrow()
        assert sorted(rows["id"].to_pylist()) == sorted(row["id"] for row in made.rows if row["ts"] == ts)


def test_nothing_is_left_behind_where_files_were_rewritten(
    made: SampleTable, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("place")
    table = made.unpack(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    lakescan.open(table).snapshot().scan().build().to_arrow()
    assert list(place.iterdir()) == []


# Log files alone are not rewritten: they are refused by name where their schema is an older one.
MERGED = [
    table.name
    for table in sample_tables("hudi")
    if "merge on read" in table.features and not table.name.startswith("log_only")
]


@pytest.mark.parametrize("name", MERGED)
def test_rewritten_in_one_schema_every_table_merges_to_the_same_rows(
    name: str, unpack: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every type that the tables have, in Avro and in Parquet blocks, with deletes and rollbacks."""
    expected = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()

    def refused(*_: object) -> Iterator[pa.RecordBatch]:
        yield from ()
        raise SchemasDiffer

    monkeypatch.setattr("lakescan.formats.hudi.slices.data_files.merged", refused)
    rows = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()
    assert rows_of(rows) == rows_of(expected)


@pytest.mark.parametrize("cut", [3, 20, 60])
def test_an_avro_block_that_cannot_be_decoded_is_an_error_that_names_the_file(cut: int) -> None:
    fields = [{"name": "a", "type": ["null", "long"]}, {"name": "b", "type": "string"}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    records = [b"\x02" + bytes([2 * at]) + b"\x0ahello" for at in range(8)]
    content = struct.pack(">ii", 3, len(records)) + b"".join(struct.pack(">i", len(one)) + one for one in records)
    assert avro_rows(content, schema, "file").to_pylist() == [{"a": at, "b": "hello"} for at in range(8)]
    with pytest.raises(CorruptDataFile, match=r"some\.log"):
        avro_rows(content[:cut], schema, "some.log")
