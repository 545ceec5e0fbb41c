"""One step of pruning as a value: which files may hold a row that is wanted, by partition values or by statistics.

A step drops only files that cannot matter. It needs no list of files: a format may apply it to whatever it reads of its
metadata while it reads it (`Snapshot.narrowed`).
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Column, Predicate, columns_of, evaluate, may_match
from lakescan.scan.file_statistics import FileStatistics


@dataclass(frozen=True)
class PartitionFilter:
    """Files whose partition values make the predicate TRUE or, where that is wanted, NULL."""

    predicate: Predicate
    unknown: bool = False

    def keeps(self, partition: pa.StructArray) -> pa.Array:
        """Which files stay, by the typed values of each."""
        values = pa.Table.from_batches([pa.RecordBatch.from_struct_array(partition)])
        return pc.fill_null(evaluate(self.predicate, values), self.unknown)


@dataclass(frozen=True)
class StatisticsFilter:
    """Files whose statistics allow a row for which the predicate is TRUE."""

    predicate: Predicate
    columns: tuple[Column, ...]
    """The columns whose statistics say something of it."""

    def keeps(self, statistics: pa.StructArray, partition: pa.StructArray) -> pa.Array:
        """Which files stay, by their statistics of `columns` and the partition values that the predicate names."""
        return may_match(self.predicate, FileStatistics(statistics, partition))

    def names(self, column: str) -> bool:
        """Whether the predicate speaks of a column."""
        return any(named.path[0] == column for named in columns_of(self.predicate))


FileFilter = PartitionFilter | StatisticsFilter
