"""A step of pruning in the log's own terms: partition values as text, statistics by physical names.

What cannot be told of an action keeps it: whoever reads the whole action finds out whether it is an add, and whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.partition_values import typed_partition
from lakescan.scan.file_filters import FileFilter, PartitionFilter
from lakescan.types.columns import empty_structs


@dataclass(frozen=True)
class LogFilter:
    """A file filter, and what it takes to apply it to actions."""

    step: FileFilter
    request: StatisticsRequest
    """The statistics that it needs; of no column where it goes by partition values alone."""
    partition_names: Sequence[str]
    """The partition columns in the log's names, in the order of:"""
    partition_fields: Sequence[pa.Field]
    zone: str
    log: str

    @property
    def by_partition(self) -> bool:
        return isinstance(self.step, PartitionFilter)

    @property
    def needs_partition(self) -> bool:
        """Whether it looks at partition values at all."""
        step = self.step
        return isinstance(step, PartitionFilter) or any(step.names(field.name) for field in self.partition_fields)

    def keeps(self, texts: pa.StructArray | None, statistics: pa.StructArray | None, count: int) -> pa.Array:
        """Which actions stay; texts are the partition values, null where an action has none."""
        step = self.step
        if isinstance(step, PartitionFilter):
            assert texts is not None
            return pc.or_(step.keeps(self._typed(texts)), texts.is_null())
        assert statistics is not None
        return step.keeps(statistics, empty_structs(count) if texts is None else self._typed(texts))

    def _typed(self, texts: pa.StructArray) -> pa.StructArray:
        return typed_partition(texts, list(self.partition_fields), self.zone, self.log)
