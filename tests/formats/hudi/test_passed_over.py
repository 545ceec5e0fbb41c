"""Partitions whose folders hudi-rs takes for those of a log or an index, on tables that Hudi wrote.

Their rows are compared with Hudi's at every instant in `test_hudis_options`; here is what must not be there.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import lakescan
from lakescan.errors import MissingDataFile
from lakescan.formats.registry import format_at
from lakescan.io.storage import Storage
from tests.sample_tables import sample_table

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
