"""A data file is found however the log spells its path, and one file is one file in every spelling."""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan import errors
from lakescan.formats.delta.log.actions import DELETION_VECTOR, keys
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])
NAMES = [
    "plain.parquet",
    "with space.parquet",
    "p@#h%41?.parquet",
    "über/漢字 ü.parquet",
    "a=b/c=%2F/d+e&f.parquet",
    "x:y.parquet",
]


def _ids(path: str) -> list[int]:
    ids: list[int] = lakescan.open(path).snapshot().scan().build().to_arrow()["id"].to_pylist()
    return sorted(ids)


def _add(path: str, size: int) -> dict[str, Any]:
    action = {"path": path, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    return {"add": action}


@pytest.mark.parametrize("name", NAMES)
def test_a_relative_path_is_percent_decoded_once(name: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "a table", SCHEMA)
    table.append(pa.table({"id": [1]}), name=name)
    assert _ids(table.path) == [1]
    assert lakescan.open(table.path).snapshot().scan().build().files()["path"].to_pylist() == [f"{table.path}/{name}"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_an_absolute_path_leads_out_of_the_table(name: str, prefix: str, tmp_path: Path) -> None:
    other = tmp_path / "else where" / name
    other.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [7]}), other)
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.commit(_add(prefix + quote(str(other)), other.stat().st_size))
    assert _ids(table.path) == [7]


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_shallow_clone_reads_the_files_and_deletion_vectors_of_its_source(scheme: str, tmp_path: Path) -> None:
    source = DeltaBuilder(tmp_path / "the source%41", SCHEMA, features=["deletionVectors"])
    kept = source.append(pa.table({"id": [1, 2]}))
    cut = source.append(pa.table({"id": [3, 4]}))
    vector = source.vector([0], "p")
    vector["pathOrInlineDv"] = scheme + quote(vector["pathOrInlineDv"])
    clone = DeltaBuilder(tmp_path / "clone", SCHEMA, features=["deletionVectors"])
    root = scheme + quote(source.path)
    clone.commit(
        {"add": {**kept["add"], "path": f"{root}/{kept['add']['path']}"}},
        {"add": {**cut["add"], "path": f"{root}/{cut['add']['path']}", "deletionVector": vector}},
    )
    own = clone.append(pa.table({"id": [5]}))
    assert _ids(clone.path) == [1, 2, 4, 5]
    # A file of the source is removed from the clone by the path that the clone knows it by.
    clone.commit({"remove": {"path": f"{root}/{kept['add']['path']}", "dataChange": True}}, clone.remove(own))
    assert _ids(clone.path) == [4]
    shutil.rmtree(source.root)
    with pytest.raises(errors.MissingDataFile, match=r"the( |%20)source"):
        _ids(clone.path)


SPELLINGS = [
    ("/x/a b#c", ["/x/a%20b%23c", "file:/x/a%20b%23c", "file:///x/a%20b%23c", "/x/%61%20b%23c", "/x/a%20b%23%63"]),
    ("über.parquet", ["über.parquet", "%C3%BCber.parquet", "%c3%bcber.parquet"]),
    (
        "p=2024-01-01 00%3A00",
        [
            "p=2024-01-01%2000%253A00",
            "p%3D2024-01-01%2000%253A00",
            "p%3d2024%2D01-01%2000%253a00".replace("%253a", "%253A"),
        ],
    ),
]


@pytest.mark.parametrize(("path", "spellings"), SPELLINGS)
def test_spellings_of_one_path_are_one_file_to_the_log(path: str, spellings: list[str], tmp_path: Path) -> None:
    for n, first in enumerate(spellings):
        for m, second in enumerate(spellings):
            table = DeltaBuilder(tmp_path / f"{n}-{m}", SCHEMA)
            table.commit(_add(first, 1000), _add("other", 1000))
            table.checkpoint()
            table.commit({"remove": {"path": second, "dataChange": True}})
            files = lakescan.open(table.path).snapshot().scan().build().files()["path"].to_pylist()
            assert files == [f"{table.path}/other"], (path, first, second)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)))
def test_a_key_is_the_decoded_path_whatever_is_escaped(paths: list[str]) -> None:
    paths = [path for path in paths if not path.startswith("file:")]
    vectors = pa.chunked_array([pa.nulls(len(paths), DELETION_VECTOR)])
    for safe in ("", "/=", "/=@:+&"):
        spelled = pa.chunked_array([pa.array([quote(path, safe=safe) for path in paths], pa.string())])
        assert keys(spelled, vectors).to_pylist() == [path.encode() for path in paths]


def test_deltalakes_own_partitioned_tables_with_odd_values_read_the_same(tmp_path: Path) -> None:
    values = ["a b", "a/b", "a%b", "ü=1", "x:y", "'", '"', "#?&+", "", None, ".", "..", "\\"]
    data = pa.table({"id": pa.array(range(len(values))), "p": pa.array(values)})
    deltalake.write_deltalake(str(tmp_path / "t"), data, partition_by=["p"])
    got = lakescan.open(tmp_path / "t").snapshot().scan().build().to_arrow().sort_by("id")
    expected = [None if value == "" else value for value in values]
    assert got["p"].to_pylist() == expected
    # Each file is found again by its own remove.
    table = deltalake.DeltaTable(str(tmp_path / "t"))
    table.delete("id >= 5")
    assert _ids(str(tmp_path / "t")) == [0, 1, 2, 3, 4]
