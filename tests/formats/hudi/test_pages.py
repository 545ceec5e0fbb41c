"""Pages walked by hand: any file that Arrow writes passes, and no changed byte of a page does."""

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakescan.formats.hudi.slices.pages import check_pages
from tests.sample_tables import DATA

ROWS = pa.table(
    {
        "id": pa.array(range(5000), pa.int64()),
        "text": pa.array([f"name {at % 7}" if at % 5 else None for at in range(5000)]),
        "long": pa.array(["x" * 200 + str(at) for at in range(5000)]),
        "list": pa.array([[at, None] if at % 3 else [] for at in range(5000)], pa.list_(pa.int32())),
        "deep": pa.array([{"a": Decimal(at)} for at in range(5000)], pa.struct([("a", pa.decimal128(10, 2))])),
    }
)


def written(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(ROWS, sink, data_page_size=4000, row_group_size=2000, **options)
    return sink.getvalue()


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_a_whole_file_passes(checksums: bool, version: str, codec: str) -> None:
    content = written(write_page_checksum=checksums, data_page_version=version, compression=codec)
    assert check_pages(pa.BufferReader(content), ROWS.column_names) == 5000


def test_files_of_sample_tables_pass() -> None:
    files = [path for path in DATA.rglob("*.parquet") if "_delta_log" not in str(path)]
    assert files
    for path in files:
        metadata = pq.read_metadata(path)
        names = {metadata.schema.column(at).path.split(".")[0] for at in range(metadata.num_columns)}
        assert check_pages(pa.OSFile(str(path)), names) == metadata.num_rows


def test_no_changed_byte_of_a_page_passes() -> None:
    content = written(write_page_checksum=True)
    first = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0)
    start = first.dictionary_page_offset or first.data_page_offset
    unnoticed = 0
    for at in range(start, start + first.total_compressed_size, 37):
        changed = content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]
        try:
            check_pages(pa.BufferReader(changed), ["id"])
            unnoticed += 1
        except (ValueError, IndexError):
            pass
        assert check_pages(pa.BufferReader(changed), ["text"]) == 5000
    # Headers have no checksum: an encoding or a statistic may be changed.
    assert unnoticed < first.total_compressed_size / 37 / 10
