import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.io.storage import Storage
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.mark.parametrize(
    ("logged", "path"),
    [
        ("part.parquet", "part.parquet"),
        ("p=a%20b/x.parquet", "p=a b/x.parquet"),
        ("p=a%253Ab/x.parquet", "p=a%3Ab/x.parquet"),
        ("p=x:/y%20z", "p=x:/y z"),
        ("/abs/a%20b", "/abs/a b"),
        ("s3://bucket/a%20b", "s3://bucket/a%20b"),
        ("file:/abs/a%20b", "file:/abs/a%20b"),
    ],
)
def test_a_path_of_the_log_is_decoded_once_and_a_uri_is_left_to_storage(logged: str, path: str) -> None:
    assert DeltaFiles(Storage("/t")).path({"path": logged}) == path


@pytest.mark.parametrize(
    "name", ["a b.parquet", "100%.parquet", "a%20b.parquet", "é#?.parquet", "p=x%3Ay/日本 +.parquet"]
)
def test_a_file_of_any_name_is_read(tmp_path: Path, name: str) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA)
    builder.append(pa.table({"id": [1]}), name=name)
    scan = lakescan.open(builder.path).snapshot().scan().build()
    assert scan.to_arrow()["id"].to_pylist() == [1]
    assert scan.files()["path"].to_pylist() == [f"{builder.path}/{name}"]


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_file_outside_the_table_is_named_by_its_absolute_path(tmp_path: Path, prefix: str) -> None:
    elsewhere = DeltaBuilder(tmp_path / "else where", SCHEMA)
    add = elsewhere.add(pa.table({"id": [1, 2]}))
    builder = DeltaBuilder(tmp_path / "t", SCHEMA)
    path = f"{prefix}{elsewhere.path}/{add['add']['path']}".replace(" ", "%20")
    builder.commit({"add": {**add["add"], "path": path}})
    assert lakescan.open(builder.path).snapshot().scan().build().to_arrow()["id"].to_pylist() == [1, 2]


def test_what_executors_know_of_files_pickles() -> None:
    files = DeltaFiles(Storage("/t"))
    assert pickle.loads(pickle.dumps(files)) == files
    assert files.deleted_rows({"path": "x", "deletion_vector": None}) is None
