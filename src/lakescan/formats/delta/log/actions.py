"""The shape of Delta's file actions as Arrow columns, the same whether a commit or a checkpoint held them.

A source of actions (`commits`, `checkpoint`) gives its adds as one Arrow table and, only when asked, their
statistics for the rows that are still wanted. Nothing here or there makes a Python object for a file.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.types.columns import member

if TYPE_CHECKING:
    from lakescan.formats.delta.log.log_filter import LogFilter

# What begins an escape, and what ends a scheme. One byte is searched for many times faster than a choice of them.
_SPELLED_OTHERWISE = (re.compile(rb"%"), re.compile(rb":"))
_HEX = b"0123456789abcdefABCDEF"
DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)

ROW_TRACKING = pa.struct([("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())])


# What a checksum counts of files.
CENSUS = ("size", "deletion_vector")
# Beside that, where it is asked for: the rows of each file, deleted ones too.
ROWS = "rows"


def adds_schema(partition_names: Sequence[str]) -> pa.Schema:
    """Columns of a source's adds; partition values are still text, in physical names; `row` is for statistics."""
    return pa.schema(
        [
            ("path", pa.string()),
            ("size", pa.int64()),
            ("modification_time", pa.int64()),
            ("partition", pa.struct([(name, pa.string()) for name in partition_names])),
            ("deletion_vector", DELETION_VECTOR),
            ("row", pa.int64()),
        ]
    )


class ActionSource(Protocol):
    """Where adds come from: all commits after a checkpoint, or one file of a checkpoint."""

    @property
    def num_rows(self) -> int:
        """How many actions of any kind there are."""

    @property
    def adds(self) -> pa.Table: ...

    def first_adds(self, rows: int) -> pa.Table:
        """The adds among the first actions, at least so many."""

    def parts(self) -> "Sequence[ActionSource]":
        """Sources of some of its adds each, all of them together; they pickle. None where it is not to be divided."""

    def marks(self) -> npt.NDArray[np.uint64]:
        """`whole_actions.marks` of every add."""

    def matching(self, wanted: "LogFilter") -> pa.Table:
        """The adds that a filter keeps: all that may pass it."""

    def census(
        self, live: Callable[[pa.Table], pa.Table] | None, counted: "StatisticsRequest | None" = None
    ) -> pa.Table:
        """`CENSUS` of every add or, where `live` is given, of those that it leaves of some adds with their paths.

        Where `counted`, a request of no column, is given, also `ROWS`.
        """

    def unnamed_adds(self, partition: bool) -> pa.Table | None:
        """All adds without their paths and, unless they are wanted, partition values; None where without paths it
        cannot be told which rows are adds."""

    def statistics(self, rows: pa.Array, wanted: "StatisticsRequest") -> pa.StructArray:
        """The statistics of the adds with these `row` numbers, null where a file has none."""

    def row_tracking(self, rows: pa.Array) -> pa.StructArray:
        """`ROW_TRACKING` of the adds with these `row` numbers, its fields null where a file has none."""


@dataclass(frozen=True)
class StatisticsRequest:
    """Which columns' statistics are wanted: the same fields in logical and in physical names.

    Bounds are safe to skip by; where `exact` is asked for they are values of the file, or null.
    """

    logical: pa.Schema
    physical: pa.Schema
    once_float: frozenset[tuple[str, ...]] = frozenset()
    """Doubles that were floats, by their logical path: bounds of old files are known only as closely as a float."""
    exact: bool = False


def keys(path: pa.ChunkedArray, vector: pa.ChunkedArray) -> pa.ChunkedArray:
    """What identifies a file to the log: its path and its deletion vector's id, as bytes.

    Writers percent-encode different characters, and spell a local path with and without its scheme: spellings of
    one path give one key.
    """
    path = path.cast(pa.binary())
    if any(_has_other_spellings(chunk) for chunk in path.chunks):
        path = _decoded(path)
        if pc.any(pc.starts_with(path, b"file:")).as_py():
            path = pc.replace_substring_regex(path, rb"^file:/+", b"/")
    stored = member(vector, "storageType")
    if stored.null_count == len(stored):
        return path
    offset = pc.cast(member(vector, "offset"), pa.string())
    where = pc.binary_join_element_wise(
        stored,
        member(vector, "pathOrInlineDv"),
        pc.coalesce(pc.binary_join_element_wise("@", offset, ""), ""),
        "",
    ).cast(pa.binary())
    return pc.coalesce(pc.binary_join_element_wise(path, where, b"\n"), path)


def _has_other_spellings(path: pa.Array) -> bool:
    """Whether some path may be spelled otherwise: a look at the bytes, which takes no time beside that of decoding."""
    data, offsets = path.buffers()[2], np.frombuffer(path.buffers()[1] or b"", np.int32)
    if data is None or not len(path):
        return False
    first, last = offsets[path.offset], offsets[path.offset + len(path)]
    return any(sign.search(memoryview(data)[first:last]) for sign in _SPELLED_OTHERWISE)


def _decoded(path: pa.ChunkedArray) -> pa.ChunkedArray:
    """Percent-decoded, a whole column at a time: each escape that occurs is replaced wherever it does."""
    escapes = set[int]()
    for chunk in path.chunks:
        data = np.frombuffer(chunk.buffers()[2] or b"", np.uint8)
        at = np.flatnonzero(data[:-2] == ord("%"))
        escapes.update(np.unique(data[at + 1].astype(np.uint16) << 8 | data[at + 2]).tolist())
    valid = [
        pair
        for pair in (escape.to_bytes(2, "big") for escape in escapes)
        if all(character in _HEX for character in pair)
    ]
    # The percent sign's own escape comes last: what it gives begins no other.
    for escape in sorted(valid, key=lambda escape: escape == b"25"):
        path = pc.replace_substring(path, b"%" + escape, bytes([int(escape, 16)]))
    return path
