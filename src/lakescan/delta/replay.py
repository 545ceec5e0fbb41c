"""Log replay: a segment's protocol, metadata and live files.

The newest action for a file wins, where a file is its path together with its deletion vector. Commits are
reconciled among themselves first; then a checkpoint's add stands unless some commit speaks of the same file.
The live files stay Arrow columns throughout.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.delta.actions import ROW_TRACKING, ActionSource, StatisticsRequest, keys
from lakescan.delta.checkpoint import checkpoint_actions, checkpoint_sources
from lakescan.delta.commits import CommitText, file_actions, read_commits
from lakescan.delta.log_segment import LogSegment
from lakescan.delta.names import LOG_FOLDER
from lakescan.delta.protocol import Metadata, Protocol
from lakescan.errors import CorruptLog
from lakescan.scan.statistics import statistics_type
from lakescan.storage import Storage


@dataclass(frozen=True)
class Replay:
    """One segment, read as far as it has been asked for."""

    storage: Storage
    segment: LogSegment

    @cached_property
    def commits(self) -> list[CommitText]:
        return read_commits(self.storage, self.segment.commits, self.segment.version)

    @cached_property
    def protocol(self) -> Protocol:
        protocol = Protocol.of(self._newest("protocol"), self._log)
        protocol.refuse_unsupported(self.storage.location)
        return protocol

    @cached_property
    def metadata(self) -> Metadata:
        return Metadata.of(self._newest("metaData"), self.protocol, self._log)

    @cached_property
    def live_files(self) -> "LiveFiles":
        names = physical_partition_names(self.metadata)
        commits = file_actions(self.commits, names)
        sources: list[ActionSource] = [commits]
        parts = [commits.adds]
        if self.segment.checkpoint:
            for source in checkpoint_sources(self.storage, self.segment.checkpoint, names):
                adds = source.adds
                stale = pc.is_in(keys(adds["path"], adds["deletion_vector"]), value_set=commits.touched)
                sources.append(source)
                parts.append(adds.filter(pc.invert(stale)))
        numbered = [
            part.append_column("source", pa.array(np.full(part.num_rows, at, np.int32)))
            for at, part in enumerate(parts)
        ]
        return LiveFiles(tuple(sources), pa.concat_tables(numbered))

    @property
    def _log(self) -> str:
        return f"{self.storage.location}/{LOG_FOLDER}"

    def _newest(self, name: str) -> Mapping[str, Any]:
        for action in self._newest_first(name):
            return action
        raise CorruptLog(self._log, f"no {name} action up to version {self.segment.version}")

    def _newest_first(self, name: str) -> Iterator[Mapping[str, Any]]:
        for text in reversed(self.commits):
            yield from reversed(list(text.actions(name)))
        if self.segment.checkpoint:
            yield from checkpoint_actions(self.storage, self.segment.checkpoint, name)


@dataclass(frozen=True)
class LiveFiles:
    """The files of a version, and the sources that hold their statistics."""

    sources: tuple[ActionSource, ...]
    table: pa.Table

    def statistics(self, source: pa.ChunkedArray, row: pa.ChunkedArray, wanted: StatisticsRequest) -> pa.StructArray:
        """Statistics of some of the files, in the order given."""
        return self._gather(source, row, statistics_type(wanted.logical), lambda at, rows: at.statistics(rows, wanted))

    def row_tracking(self, source: pa.ChunkedArray, row: pa.ChunkedArray) -> pa.StructArray:
        """First row ids and commit versions of some of the files, in the order given."""
        return self._gather(source, row, ROW_TRACKING, lambda at, rows: at.row_tracking(rows))

    def _gather(
        self,
        source: pa.ChunkedArray,
        row: pa.ChunkedArray,
        type_: pa.DataType,
        ask: Callable[[ActionSource, pa.Array], pa.StructArray],
    ) -> pa.StructArray:
        numbers = source.to_numpy()
        order, parts = [], []
        for at, holder in enumerate(self.sources):
            chosen = np.flatnonzero(numbers == at)
            if len(chosen):
                order.append(chosen)
                parts.append(ask(holder, row.take(pa.array(chosen)).combine_chunks()))
        if not parts:
            return pa.array([], type_)
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order), kind="stable")))


def physical_partition_names(metadata: Metadata) -> Sequence[str]:
    """The partition columns' names in the log, in the table's partition order."""
    logical = metadata.schema.names
    return [metadata.source_schema.field(_index(logical, name)).name for name in metadata.partition_columns]


def _index(names: list[str], wanted: str) -> int:
    if wanted in names:
        return names.index(wanted)
    return [name.lower() for name in names].index(wanted.lower())
