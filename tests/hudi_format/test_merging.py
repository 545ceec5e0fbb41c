"""Slices whose base and log files differ in their schemas, and other hard merges: as Hudi on Spark reads them.

`tests/data/make_hudi_merges.py` wrote the tables with Hudi, and beside each the rows that Hudi reads.
"""

import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan.errors import CorruptDataFile
from lakescan.hudi.avro_records import avro_rows
from lakescan.hudi.engine import SchemasDiffer

from .tables import NAMES as GOLDEN
from .tables import rows_of

FOLDER = Path(__file__).parent.parent / "data" / "hudi_merges"
NAMES = sorted(path.stem for path in FOLDER.glob("*.zip"))


@pytest.fixture(params=NAMES)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(FOLDER / f"{request.param}.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_rows_are_merged_as_hudi_merges_them(made: Path) -> None:
    expected = pq.read_table(made / "rows")
    snapshot = lakescan.open(made / "table").snapshot()
    found = snapshot.scan().build().to_arrow()
    assert found.schema.names == expected.schema.names
    assert rows_of(found) == rows_of(expected)
    for name in expected.schema.names:
        alone = snapshot.scan().select(name).build().to_arrow()
        assert rows_of(alone) == rows_of(expected.select([name])), name


@pytest.mark.parametrize("kind", ["avro", "parquet"])
def test_a_renamed_column_is_followed_when_the_commit_that_renamed_it_has_been_archived(
    kind: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(FOLDER / f"renamed_{kind}.zip") as archive:
        archive.extractall(tmp_path)
    timeline = tmp_path / "table" / ".hoodie" / "timeline"
    completed = sorted(path for path in timeline.iterdir() if path.suffix in (".commit", ".deltacommit"))
    # All but the newest: the insert and the ALTER TABLE among them.
    for path in completed[:-1]:
        for one in timeline.glob(f"{path.name[:17]}*"):
            one.unlink()
    found = lakescan.open(tmp_path / "table").snapshot().scan().build().to_arrow()
    assert rows_of(found) == rows_of(pq.read_table(tmp_path / "rows"))


def test_a_filter_is_applied_after_merging(made: Path) -> None:
    expected = pq.read_table(made / "rows")
    snapshot = lakescan.open(made / "table").snapshot()
    for ts in expected["ts"].to_pylist():
        wanted = [row for row in expected.to_pylist() if row["ts"] == ts]
        found = snapshot.scan().filter(lakescan.col("ts") == ts).select("id").build().to_arrow()
        assert sorted(found["id"].to_pylist()) == sorted(row["id"] for row in wanted)


def test_nothing_is_left_behind_where_files_were_rewritten(
    made: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("place")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    lakescan.open(made / "table").snapshot().scan().build().to_arrow()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in GOLDEN if "__mor__" in name])
def test_rewritten_in_one_schema_every_golden_table_merges_to_the_same_rows(
    name: str, unpack: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every type that the golden tables have, in Avro and in Parquet blocks, with deletes and rollbacks."""
    expected = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()

    def refused(*_: object) -> Iterator[pa.RecordBatch]:
        raise SchemasDiffer
        yield

    monkeypatch.setattr("lakescan.hudi.data_files.merged", refused)
    found = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()
    assert rows_of(found) == rows_of(expected)


@pytest.mark.parametrize("cut", [3, 20, 60])
def test_an_avro_block_that_cannot_be_decoded_is_an_error_that_names_the_file(cut: int) -> None:
    fields = [{"name": "a", "type": ["null", "long"]}, {"name": "b", "type": "string"}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    records = [b"\x02" + bytes([2 * at]) + b"\x0ahello" for at in range(8)]
    content = struct.pack(">ii", 3, len(records)) + b"".join(struct.pack(">i", len(one)) + one for one in records)
    assert avro_rows(content, schema, "file").to_pylist() == [{"a": at, "b": "hello"} for at in range(8)]
    with pytest.raises(CorruptDataFile, match=r"some\.log"):
        avro_rows(content[:cut], schema, "some.log")
