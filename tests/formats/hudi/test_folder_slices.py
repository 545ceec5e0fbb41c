"""Slices that folders show, on tables that Hudi wrote: those that hudi-rs finds too, and those that it passes over.

The rows of the latter are compared with Hudi's at every instant in `test_hudis_options`; here is what may not be there.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import MissingDataFile
from lakescan.formats.hudi.engine import file_slices
from lakescan.formats.hudi.names import instant_of_log_file
from lakescan.formats.hudi.slices.folder_slices import all_slices
from lakescan.formats.registry import format_at
from lakescan.io.storage import Storage
from tests.sample_tables import sample_table, sample_tables

from .builder import HudiBuilder
from .tables import COW, open_hudi

Unpack = Callable[[str], Path]


def ids(path: Path) -> list[int]:
    return sorted(lakescan.open(path).snapshot().scan().select("id").build().to_arrow()["id"].to_pylist())


def test_a_partition_called_as_a_delta_log_makes_no_delta_table_of_a_hudi_table(copy: Unpack) -> None:
    path = copy("partition__delta_log_v9_cow")
    assert format_at(Storage.at(path)) == "hudi"
    assert ids(path) == [0, 2, 3, 10]
    # A table that two engines share has both logs; it stays what it was taken for.
    (path / "_delta_log" / f"{0:020d}.json").write_text("{}")
    assert format_at(Storage.at(path)) == "delta"


@pytest.mark.parametrize("name", ["partition_metadata_v6_mor", "partition_metadata_v9_mor"])
def test_a_filter_on_such_a_partition_reads_its_slices_alone(name: str, copy: Unpack) -> None:
    scan = lakescan.open(copy(name)).snapshot().scan().filter("part = 'metadata'").build()
    assert {file.split("/")[0] for file in scan.planned.files["path"].to_pylist()} == {"metadata"}
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [0, 10]


@pytest.mark.parametrize("name", ["partition_metadata_v6_mor", "partition_metadata_v9_mor"])
def test_a_file_of_such_a_partition_that_is_gone_is_an_error(name: str, copy: Unpack) -> None:
    path = copy(name)
    newest = max((path / "metadata").glob(".*.log.*"), key=lambda file: file.stat().st_mtime)
    newest.unlink()
    with pytest.raises(MissingDataFile, match="metadata/"):
        ids(path)


@pytest.mark.parametrize("name", ["partition_metadata_v6_cow", "partition_metadata_v9_cow"])
def test_files_of_a_commit_under_way_are_no_part_of_such_a_partition(name: str, copy: Unpack) -> None:
    path = copy(name)
    snapshot = open_hudi(path).snapshot()
    (done,) = [
        file
        for file in path.joinpath(snapshot.timeline.listing.folder).glob(f"{snapshot.instant}*.commit")
        if not file.name.startswith(".")
    ]
    assert 10 in ids(path)
    done.unlink()
    assert 10 not in ids(path)
    assert 0 in ids(path)


def test_what_another_writer_put_into_a_folder_called_so_is_no_partition(copy: Unpack) -> None:
    path = copy("partition_metadata_v9_cow")
    stray = path / "_delta_log"
    stray.mkdir()
    (stray / "part-00000.parquet").write_bytes(b"PAR1")
    assert ids(path) == sorted(row["id"] for row in sample_table("partition_metadata_v9_cow").rows)
    unpartitioned = copy(COW)
    before = ids(unpartitioned)
    (unpartitioned / "metadata").mkdir()
    assert ids(unpartitioned) == before


FOUND = [table.name for table in sample_tables("hudi") if not table.name.startswith(("partition_", "other_"))]


@pytest.mark.parametrize("name", FOUND)
def test_at_every_instant_they_are_those_that_hudi_rs_finds(name: str, unpack: Unpack) -> None:
    snapshot = open_hudi(unpack(name)).snapshot()
    storage, timeline = snapshot.storage, snapshot.timeline
    by_own_name = int(snapshot.properties["hoodie.table.version"]) >= 8

    def of(slices: Iterable[Any], instant: str) -> list[tuple[str, str, int, list[tuple[str, int]]]]:
        found = []
        for one in slices:
            logs = zip(one.log_files_relative_paths(), one.log_file_sizes, strict=True)
            # hudi-rs also names those of later commits, which are taken off by their names.
            own = [log for log in logs if not by_own_name or instant_of_log_file(log[0].rsplit("/", 1)[-1]) <= instant]
            found.append((one.file_id, one.base_file_relative_path(), one.base_file_size, sorted(own)))
        return sorted(found)

    for instant in timeline.instants:
        given = file_slices(storage, timeline.table, instant)
        assert given is not None
        expected = of((one for one in given if one.base_file_name), instant)
        assert of(all_slices(storage, timeline, instant), instant) == expected, instant


@pytest.mark.parametrize("name", ["gr\u00f6\u00dfe", "a-b"])
def test_a_column_of_any_name_is_read(name: str, tmp_path: Path) -> None:
    """hudi-rs knows the letters of Avro's names alone. Hudi writes what Spark calls a column."""
    built = HudiBuilder(tmp_path / "t")
    first = built.upsert(0, pa.table({"id": [1, 2], name: ["a", "b"]}))
    built.upsert(0, pa.table({"id": [1], name: ["c"]}))
    built.upsert(1, pa.table({"id": [3], name: ["d"]}))
    table = lakescan.open(built.path)
    assert sorted(table.snapshot().scan().select(name).build().to_arrow()[name].to_pylist()) == ["b", "c", "d"]
    assert sorted(table.snapshot(first).scan().select(name).build().to_arrow()[name].to_pylist()) == ["a", "b"]


def test_a_partition_field_inside_a_struct_is_read(tmp_path: Path) -> None:
    simple = {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator"}
    built = HudiBuilder(
        tmp_path / "t", {**simple, "hoodie.table.partition.fields": "deep.part"}, folders={0: "x", 1: "y"}
    )
    for group, part in enumerate("xy"):
        built.upsert(group, pa.table({"id": [group], "deep": pa.array([{"part": part}])}))
    snapshot = lakescan.open(built.path).snapshot()
    rows = snapshot.scan().filter("deep.part = 'y'").build().to_arrow()
    assert rows["id"].to_pylist() == [1]
    assert snapshot.partition_columns == ()
