"""A data file held against what the log says of it and against itself, before any of its rows leaves.

A file that was replaced, cut or damaged may still open, and then give fewer rows without a word. Its size and its
number of rows must be the log's, its row groups must add up to its footer, and a column must have a value for every
row. Whatever a broken file makes the readers raise leaves here as one error that names the file; a failure of the
store, and memory that runs out, stay what they are.
"""

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import CorruptDataFile, LakescanError, MissingDataFile, NotEnoughMemory
from lakescan.io.storage import failure_of_store

# A page counts its values in 31 bits, and its header takes a few bytes at least.
_MOST_VALUES_OF_A_PAGE = 1 << 31
_FEWEST_BYTES_OF_A_PAGE = 8


@dataclass(frozen=True)
class Said:
    """What the table's log says of a data file, None where it does not."""

    size: int | None = None
    rows: int | None = None


NOTHING_SAID = Said()


@contextmanager
def named_damage(name: str) -> Iterator[None]:
    """What goes wrong while a data file is read, as an error that names it."""
    try:
        yield
    except LakescanError:
        raise
    except FileNotFoundError as error:
        raise MissingDataFile(name) from error
    except MemoryError as error:
        raise NotEnoughMemory(name, str(error)) from error
    except (pa.ArrowException, OSError, ValueError, ArithmeticError, struct.error) as error:
        # Names and texts of a footer that are not UTF-8 are among the ValueErrors.
        # Some of Arrow's messages end their line.
        raise failure_of_store(name, error) or CorruptDataFile(name, " ".join(str(error).split())) from error


def check_size(name: str, size: int, said: Said) -> None:
    # No Parquet file is empty: where the log gives no size, planners count with zero.
    if said.size and said.size != size:
        raise CorruptDataFile(
            name, f"it has {size} bytes and the log says {said.size}; it is another file or a cut one"
        )


def check_rows(name: str, metadata: pq.FileMetaData, said: Said) -> None:
    """An error unless the footer has as many rows as its row groups together, and as the log says."""
    rows = metadata.num_rows
    counts = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    if sum(counts) != rows or min(counts, default=0) < 0:
        raise CorruptDataFile(name, f"its footer says {rows} rows and its row groups have {sum(counts)}")
    if said.rows is not None and said.rows != rows:
        raise CorruptDataFile(name, f"it has {rows} rows and the log says {said.rows}; it is another file")


class _NoBytes(io.RawIOBase):
    """As large as a file and without its bytes; remembers whether anybody asked for some."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.at, self.asked = size, 0, False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def read(self, size: int = -1) -> bytes:
        self.asked = True
        return b""


def check_columns(metadata: pq.FileMetaData, size: int) -> None:
    """An error unless every column chunk of the footer is one that Arrow can describe, inside the file.

    Asked for a chunk that it cannot, Arrow ends the whole process. Where it prepares to read chunks it raises as it
    should, and it looks at all of them before it reads any: so it is let prepare, without bytes to read.
    """
    groups = [at for at in range(metadata.num_row_groups) if metadata.row_group(at).num_columns]
    if not groups:
        return
    nothing = _NoBytes(size)
    try:
        file = pq.ParquetFile(pa.PythonFile(nothing, "r"), metadata=metadata, pre_buffer=True)
        next(file.iter_batches(1, groups), None)
    except (pa.ArrowException, OSError):
        if not nothing.asked:
            raise


def footer_statistics(metadata: pq.FileMetaData, group: int, leaf: int) -> pq.Statistics | None:
    """A column's statistics; none where its type is not the schema's: there too Arrow would end the process, and
    whoever reads the column is told."""
    column = metadata.row_group(group).column(leaf)
    return column.statistics if column.physical_type == metadata.schema.column(leaf).physical_type else None


def check_values(name: str, file: pq.ParquetFile, group: pq.RowGroupMetaData, leaves: Sequence[int]) -> None:
    """An error unless these columns can have a value, or a null, for each row of the row group."""
    for at in leaves:
        column = group.column(at)
        values = column.num_values
        repeats = file.schema.column(at).max_repetition_level > 0
        if values < group.num_rows or (values > group.num_rows and not repeats):
            raise CorruptDataFile(
                name, f"its column {column.path_in_schema} has {values} values for {group.num_rows} rows"
            )
        pages = column.total_compressed_size // _FEWEST_BYTES_OF_A_PAGE + 1
        if values > pages * _MOST_VALUES_OF_A_PAGE:
            raise CorruptDataFile(name, f"its column {column.path_in_schema} cannot have {values} values in its bytes")


def check_positions(name: str, last: int | None, rows: int) -> None:
    """An error where a deletion vector names a row that the file does not have."""
    if last is not None and last >= rows:
        raise CorruptDataFile(
            name, f"it has {rows} rows and its deletion vector names row {last + 1}; they do not belong together"
        )
