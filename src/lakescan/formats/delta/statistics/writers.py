"""Who wrote a file's statistics, as far as the commit that added it says so.

One thing depends on the writer: whether a float column's maximum is NaN when the file holds one. Spark sorts NaN
above every number, and Delta Spark's statistics are Spark's own `max`, so its maximum tells. Writers on Rust and
C++ Parquet leave NaN out. A commit is trusted only when Delta Spark says that it made it, by an operation that
computes the statistics of the files it adds; a file with a deletion vector keeps the statistics of whoever wrote
it first. A checkpoint does not say who wrote what, so nothing is known of the files that only it names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.types.columns import member

_DELTA_SPARK = re.compile(r"^Apache-Spark/\S+ Delta-Lake/\S+$")
# Not CONVERT, CLONE, RESTORE or a backfill: they add files with statistics from elsewhere.
_WRITES = frozenset(
    {
        "WRITE",
        "STREAMING UPDATE",
        "CREATE TABLE AS SELECT",
        "REPLACE TABLE AS SELECT",
        "CREATE OR REPLACE TABLE AS SELECT",
        "DELETE",
        "UPDATE",
        "MERGE",
        "OPTIMIZE",
    }
)


class _Commit(Protocol):
    def actions(self, name: str) -> Iterator[Mapping[str, Any]]: ...


@dataclass(frozen=True)
class Writers:
    """The commits of a run, the row at which each one ends, and every row's deletion vector."""

    commits: tuple[_Commit, ...]
    ends: npt.NDArray[np.int64]
    vectors: pa.ChunkedArray

    def mark(self, statistics: pa.StructArray, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        """The statistics with `nan_is_greatest` filled in where it can matter."""
        if not _has_float(wanted.logical) or not len(rows):
            return statistics
        owners = np.searchsorted(self.ends, rows.to_numpy(), side="right")
        trusted = np.zeros(len(self.commits), np.bool_)
        for at in np.unique(owners):
            trusted[at] = any(map(_puts_nan_last, self.commits[at].actions("commitInfo")))
        unmarked = pc.is_null(member(self.vectors, "cardinality").take(rows).combine_chunks())
        greatest = pc.and_(pa.array(trusted[owners]), unmarked)
        columns = [
            greatest if field.name == "nan_is_greatest" else member(statistics, field.name) for field in statistics.type
        ]
        return pa.StructArray.from_arrays(columns, fields=list(statistics.type))


def _puts_nan_last(info: Mapping[str, Any]) -> bool:
    return bool(_DELTA_SPARK.match(str(info.get("engineInfo")))) and info.get("operation") in _WRITES


def _has_float(fields: pa.Schema | pa.StructType) -> bool:
    return any(
        _has_float(field.type) if pa.types.is_struct(field.type) else pa.types.is_floating(field.type)
        for field in fields
    )
