"""Files of a version with the sources that hold what else is said of them: statistics and row tracking, when asked.

A file is known by its source and its row there, so only the snapshot that listed it can speak of it.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lakescan.errors import CheckpointIgnored, UnreadableCheckpoint
from lakescan.formats.delta.log.actions import ROW_TRACKING, ActionSource, StatisticsRequest
from lakescan.scan.file_statistics import statistics_type


@dataclass(frozen=True)
class LiveFiles:
    """The files of a version, and the sources that hold their statistics."""

    sources: Mapping[int, ActionSource]
    """By the numbers that files have in `source`."""
    table: pa.Table
    version: int
    commits: int
    """How many commits after the checkpoint they rest on."""

    def statistics(self, source: pa.ChunkedArray, row: pa.ChunkedArray, wanted: StatisticsRequest) -> pa.StructArray:
        """Statistics of some of the files, in the order given."""
        return self._gather(source, row, statistics_type(wanted.logical), lambda at, rows: self._held(at, rows, wanted))

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
        if np.all(numbers[1:] >= numbers[:-1]):
            # As they were listed: those of a source stand together.
            begins = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), len(numbers)]
            runs = [(begin, end) for begin, end in pairwise(begins) if end > begin]
            told = [
                ask(self.sources[int(numbers[begin])], row.slice(begin, end - begin).combine_chunks())
                for begin, end in runs
            ]
            return pa.concat_arrays(told) if told else pa.array([], type_)
        order, parts = [], []
        for at, holder in self.sources.items():
            chosen = np.flatnonzero(numbers == at)
            if len(chosen):
                order.append(chosen)
                parts.append(ask(holder, row.take(pa.array(chosen)).combine_chunks()))
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order), kind="stable")))

    def _held(self, holder: ActionSource, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        try:
            return holder.statistics(rows, wanted)
        except UnreadableCheckpoint as error:
            # The files are known; without their statistics they are all read, which is right.
            warnings.warn(CheckpointIgnored(error.file, self.version, error.why), stacklevel=2)
            return pa.nulls(len(rows), statistics_type(wanted.logical))


def numbered(parts: Sequence[pa.Table]) -> pa.Table:
    """The adds of several sources, each with the number of its own in `source`."""
    return pa.concat_tables(
        part.append_column("source", pa.array(np.full(part.num_rows, at, np.int32))) for at, part in enumerate(parts)
    )
