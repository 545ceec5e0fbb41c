"""What the planner may conclude from a file's statistics."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from tests.tables import DeltaBuilder


@pytest.mark.parametrize("filter", ["st IS NULL OR st.x IN (1, 2)", "st.x = 1 AND st IS NULL"])
def test_a_struct_has_no_bounds_of_its_own_even_beside_those_of_its_field(tmp_path: Path, filter: str) -> None:
    table = pa.table({"st": pa.array([{"x": 0}, None], pa.struct([("x", pa.int64())]))})
    builder = DeltaBuilder(tmp_path, table.schema)
    bounds = {"st": {"x": 0}}
    builder.append(
        table, stats={"numRecords": 2, "minValues": bounds, "maxValues": bounds, "nullCount": {"st": {"x": 1}}}
    )
    rows = lakescan.open(builder.path).snapshot().scan().filter(filter).build().to_arrow()
    assert rows.num_rows == ("OR" in filter)


def test_thousands_of_values_are_searched_once_a_file(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for start in range(0, 100, 10):
        builder.append(pa.table({"id": range(start, start + 10)}))
    scan = lakescan.open(builder.path).snapshot().scan()
    wanted = lakescan.col("id").isin([*range(1000, 9000), 25, 71])
    kept = [path[-13:] for path in scan.filter(wanted).build().files()["path"].to_pylist()]
    assert kept == ["00003.parquet", "00008.parquet"]
    assert sorted(scan.filter(wanted).build().to_arrow()["id"].to_pylist()) == [25, 71]
    assert scan.filter(~lakescan.col("id").isin(range(95))).build().to_arrow()["id"].to_pylist() == [
        95,
        96,
        97,
        98,
        99,
    ]
