"""Slices whose base and log files differ in their schemas, and other hard merges: as Hudi on Spark reads them.

`tests/data/make_hudi.py` wrote the tables with Hudi, and beside each the rows that Hudi reads.
"""

import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lakescan

from .tables import rows_of

FOLDER = Path(__file__).parent.parent / "data" / "hudi"
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
