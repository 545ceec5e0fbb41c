"""What is known of a column in each file slice, from the column statistics of the slice's files.

A slice's bounds are those of its base file and its log files together, and only where each of them has an entry: a
merged row has every value from one of them. Values of merged rows may not be attained and nulls are not counted, so
nothing but bounds is known of a slice with log files, and of one whose rows are not all wanted. An index that cannot be
read is passed over with a warning: it only ever tells what need not be read.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import ColumnStatisticsIgnored, CorruptDataFile, UnsupportedFeature
from lakescan.formats.hudi.index.column_statistics import PARTITION, FileRanges, IndexedFile, read_ranges
from lakescan.formats.hudi.index.metadata_table import MetadataPartition
from lakescan.io.storage import Storage
from lakescan.reader.groups import extremes

# From this table version on a log file is written once; before, a later commit may have added to it.
_LOGS_WRITTEN_ONCE = 8
_BUILD_ANEW = "Let Hudi build the metadata table anew (hoodie.metadata.enable=false for one write, then true)."


@dataclass(frozen=True)
class SliceColumn:
    """One column, an entry a slice; a null is unknown."""

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    exact_minimum: pa.Array
    """Null unless it is the least value of the slice."""
    exact_maximum: pa.Array

    def take(self, rows: pa.Array) -> "SliceColumn":
        return SliceColumn(*(getattr(self, name).take(rows) for name in self.__dataclass_fields__))


class SliceStatistics:
    """The index of a table, for the slices of a snapshot. It remembers each column that it read.

    `slices` are as `scan.Snapshot.files` has them; `row_counts` are the rows of each as its commit counts them, null
    where no commit does or there are log files.
    """

    def __init__(self, storage: Storage, options: Mapping[str, str], slices: pa.Table, row_counts: pa.Array) -> None:
        self.storage = storage
        self.options = options
        self.slices = slices
        self.row_counts = row_counts
        self._columns: dict[str, SliceColumn | None] = {}

    def column(self, name: str, kind: pa.DataType) -> SliceColumn | None:
        """What is known of a column, dotted where it is nested; None where that is nothing."""
        if name not in self._columns:
            self._columns[name] = self._read(name, kind)
        return self._columns[name]

    def _read(self, name: str, kind: pa.DataType) -> SliceColumn | None:
        if self._index is None or not self.slices.num_rows:
            return None
        try:
            return self._combined(read_ranges(self._index, name, kind, self._files))
        except (CorruptDataFile, FileNotFoundError, UnsupportedFeature) as error:
            why = str(error)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, pa.ArrowException) as error:
            why = f"an entry of {name} has another form than it should ({type(error).__name__}: {error})."
        warnings.warn(ColumnStatisticsIgnored(self.storage.location, why, _BUILD_ANEW), stacklevel=2)
        return None

    def _combined(self, ranges: FileRanges) -> SliceColumn:
        """The entries of files as those of slices."""
        bases = pa.array(self._bases)
        values, nulls = ranges.value_count.take(bases), ranges.null_count.take(bases)
        known = ranges.known.copy()
        known[self._bases] &= _is_true(pc.greater(values, 0)) & ~_is_true(pc.less(values, self.row_counts))
        lost = np.bincount(self._owners[~known], minlength=self.slices.num_rows) > 0
        if int(self.options["hoodie.table.version"]) < _LOGS_WRITTEN_ONCE:
            lost |= ~self._is_alone
        minimum = _unless(lost, self._of_slices(ranges.minimum, "min"))
        maximum = _unless(lost, self._of_slices(ranges.maximum, "max"))
        whole = self.slices["merged_with"].combine_chunks().is_null().to_numpy(zero_copy_only=False)
        # Hudi adds counts up where it was told of a file twice; none is none, however often it was told.
        counted = whole & _is_true(pc.equal(values, self.row_counts))
        without_null = _is_true(pc.equal(nulls, 0)) & _is_true(pc.greater(values, 0)) & self._is_alone
        exact = counted & ~lost
        return SliceColumn(
            minimum,
            maximum,
            _unless(~(counted | without_null), nulls),
            _unless(~(exact & _is_attained(minimum, nulls)), minimum),
            _unless(~(exact & _is_attained(maximum, nulls)), maximum),
        )

    def _of_slices(self, bounds: pa.Array, function: str) -> pa.Array:
        if len(bounds) == self.slices.num_rows:
            return bounds
        return extremes(bounds, self._owners, self.slices.num_rows, function)

    @cached_property
    def _index(self) -> MetadataPartition | None:
        return MetadataPartition.of(self.storage, PARTITION, self.options)

    @cached_property
    def _logs(self) -> list[list[str]]:
        return [logs or [] for logs in self.slices["merged_with"].to_pylist()]

    @cached_property
    def _files(self) -> list[IndexedFile]:
        """Every file of every slice, the base file of each first."""
        return [
            IndexedFile.at(path)
            for base, logs in zip(self.slices["path"].to_pylist(), self._logs, strict=True)
            for path in (base, *logs)
        ]

    @cached_property
    def _owners(self) -> npt.NDArray[np.int64]:
        """The slice of each file."""
        sizes = [1 + len(logs) for logs in self._logs]
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def _bases(self) -> npt.NDArray[np.int64]:
        """The place of each slice's base file among the files."""
        return np.searchsorted(self._owners, np.arange(self.slices.num_rows))

    @cached_property
    def _is_alone(self) -> npt.NDArray[np.bool_]:
        """Which slices are a base file without log files."""
        alone: npt.NDArray[np.bool_] = np.bincount(self._owners, minlength=self.slices.num_rows) == 1
        return alone


def _is_attained(bound: pa.Array, nulls: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a bound is a value: row groups of nulls alone make zeros, and text may be cut to a prefix."""
    kind = bound.type
    if pa.types.is_decimal(kind):
        zero = pa.scalar(Decimal(0), kind)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        zero = pa.scalar(0, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
    else:
        return np.zeros(len(bound), np.bool_)
    return _is_true(pc.equal(nulls, 0)) | _is_true(pc.not_equal(bound, zero))


def _is_true(flags: pa.Array) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return mask


def _unless(lost: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(lost), pa.scalar(None, values.type), values)
