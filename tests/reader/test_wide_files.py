"""What holds for a whole file or a whole schema is worked out once, however many columns there are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from tests.tables import DeltaBuilder


@pytest.mark.parametrize("columns", [10, 40])
def test_a_files_schema_is_made_as_often_for_many_columns_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    rows = pa.table({f"c{at}": range(50) for at in range(columns)})
    table = DeltaBuilder(tmp_path, rows.schema)
    table.append(rows, row_group_size=10)
    made, schema_of = [], pq.ParquetFile.schema_arrow.fget

    def counted(file: pq.ParquetFile) -> pa.Schema:
        made.append(file)
        return schema_of(file)

    monkeypatch.setattr(pq.ParquetFile, "schema_arrow", property(counted))
    scan = lakescan.open(table.path).snapshot().scan()

    read = scan.filter(" AND ".join(f"c{at} >= 0" for at in range(columns))).build().to_arrow()

    assert read.num_rows == 50
    assert len(made) <= 2
