"""The tables that the project carries read as the engines that wrote them read them."""

from pathlib import Path

import pytest

import lakescan
from tests.expected import in_order
from tests.sample_tables import SampleTable, sample_tables


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_a_sample_table_has_the_rows_that_its_engine_read(table: SampleTable, tmp_path: Path) -> None:
    found = lakescan.open(table.unpack(tmp_path)).snapshot().scan().build().to_arrow()
    assert found.num_columns
    if table.rows is not None:
        assert in_order(found.to_pylist()) == in_order(table.rows)
