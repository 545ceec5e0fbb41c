"""The statistics in a checkpoint's file: of the rows and columns that are wanted, decoded or parsed batch by batch.

Parsed statistics are columns of the file and are read as such, each time. Texts are dear to parse, so what was parsed
of all of a file's texts is kept as columns for the next query, within the bound of `scan.kept_columns`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.log.opened_once import OpenedOnce, Path, Rows
from lakescan.formats.delta.statistics.parsed import parse_for, parse_statistics, typed_statistics
from lakescan.scan.file_statistics import statistics_type
from lakescan.scan.kept_columns import KEPT
from lakescan.types.columns import empty_structs, member

_COUNTS, _KINDS = ("row_count", "tight"), ("minimum", "maximum", "null_count")
_PARSED, _TEXTS = ("add", "stats_parsed"), "add.stats"
# What is kept beside columns: counts that were parsed, and numbers of rows that were cut off the texts' start.
_PARSED_COUNTS, _ROWS = "counts", "rows"
# A kept column costs about so many bytes a row and a file's counts of rows as many again.
_KEPT_BYTES = 25
# Of how many rows' texts it pays to parse all of them, and keep them.
_MOST_OF = 4


@dataclass(frozen=True)
class CheckpointStatistics:
    """What one file of a checkpoint says of the files that it adds."""

    file: OpenedOnce
    keeps: bool = True
    """Whether what was parsed of all of the file's texts is kept; not by who has a part of the file only."""

    def of_rows(self, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        """The statistics of the adds with these `row` numbers, in whichever order they are given."""
        places = rows.to_numpy()
        kept = self.whole(wanted, len(places))
        if kept is not None:
            return _taken(kept, places)
        in_order = bool(np.all(np.diff(places) > 0))
        statistics = self._read(wanted, places if in_order else np.unique(places))
        if in_order:
            return statistics
        return statistics.take(pa.array(np.searchsorted(np.unique(places), places)))

    def _read(self, wanted: StatisticsRequest, rows: Rows | None) -> pa.StructArray:
        parts = self.file.gather(self.columns(wanted), partial(self.typed, wanted), rows)
        return pa.concat_arrays(parts) if parts else pa.array([], statistics_type(wanted.logical))

    def typed(self, wanted: StatisticsRequest, rows: Rows, add: pa.StructArray) -> pa.StructArray:
        parsed = member(add, "stats_parsed")
        if parsed is None:
            return parse_statistics(_texts(add), wanted)
        parsed = self.file.in_our_calendar(parsed, _PARSED)
        typed = typed_statistics(parsed, wanted)
        if not parsed.null_count or not self._has_texts:
            return typed
        lacking = rows[parsed.is_null().to_numpy(zero_copy_only=False)]
        texts = self.file.gather([_TEXTS], lambda _, struct: _texts(struct), lacking)
        if sum(part.null_count for part in texts) == len(lacking):
            return typed
        parts = pa.concat_arrays([typed, parse_statistics(pa.chunked_array(texts), wanted)])
        places = np.arange(len(rows))
        places[np.searchsorted(rows, lacking)] = len(rows) + np.arange(len(lacking))
        return parts.take(pa.array(places))

    def whole(self, wanted: StatisticsRequest, rows: int) -> pa.StructArray | None:
        """The statistics of every row, where they are kept, or so many are wanted that they are to be; else None."""
        total, keys = self.file.metadata.num_rows, _keys(wanted)
        if not self.keeps or not total or self._has_parsed(wanted):
            return None
        kept = [KEPT.get(self._owner, key) for key in keys]
        if keys == [_ROWS] and kept == [None]:
            # Whoever parsed a column's bounds has the numbers of rows too.
            kept = [KEPT.get(self._owner, _PARSED_COUNTS)]
        if all(one is not None for one in kept):
            return _assembled(kept, wanted)
        if rows * _MOST_OF < total or total * _KEPT_BYTES * len(keys) > KEPT.most_bytes:
            return None
        # Bounds and exact values are in one text: whoever asks for the one mostly asks for the other too.
        both = [wanted, replace(wanted, exact=not wanted.exact)] if len(wanted.logical) else [wanted]
        parts = self.file.gather([_TEXTS], lambda _, add: parse_for(_texts(add), both))
        for asked, members in zip(both, zip(*parts, strict=True), strict=True):
            whole = pa.concat_arrays(members)
            for key, column in zip(_keys(asked), _pieces(whole, asked), strict=True):
                KEPT.put(self._owner, key, column)
            if asked is wanted:
                answer = whole
        return answer

    @cached_property
    def _owner(self) -> int:
        return KEPT.owner(self)

    @property
    def _has_texts(self) -> bool:
        return self.file.leaf(("add", "stats")) is not None

    def _has_parsed(self, wanted: StatisticsRequest) -> bool:
        """Whether some of the columns are there, and not without a value in any row."""
        return any(self.file.has_values(column) for column in _leaf_columns(wanted))

    def columns(self, wanted: StatisticsRequest) -> list[str]:
        return [".".join(column) for column in _leaf_columns(wanted)] if self._has_parsed(wanted) else [_TEXTS]


def _taken(kept: pa.StructArray, places: Rows) -> pa.StructArray:
    """The statistics at these places; those of neighbours, as all files of a checkpoint are, need no copy."""
    if len(places) and places[-1] - places[0] == len(places) - 1 and np.all(np.diff(places) == 1):
        return kept.slice(places[0], len(places))
    return kept.take(pa.array(places))


def _texts(add: pa.StructArray) -> pa.Array:
    column = member(add, "stats")
    if column is None:
        return pa.nulls(len(add), pa.string())
    texts = column.cast(pa.string())
    texts.validate(full=True)
    return texts


def _keys(wanted: StatisticsRequest) -> list[Hashable]:
    """What is kept: counts, and each column's bounds. Counts that were cut off the texts' start are not the same."""
    both = zip(wanted.logical, wanted.physical, strict=True)
    columns = [(str(field), str(source), wanted.once_float, wanted.exact) for field, source in both]
    return [_PARSED_COUNTS, *columns] if columns else [_ROWS]


def _pieces(whole: pa.StructArray, wanted: StatisticsRequest) -> list[pa.StructArray]:
    """What is kept of statistics, by those keys."""
    counts = pa.StructArray.from_arrays([member(whole, name) for name in _COUNTS], names=list(_COUNTS))
    columns = [
        pa.StructArray.from_arrays([member(whole, kind, name) for kind in _KINDS], names=list(_KINDS))
        for name in wanted.logical.names
    ]
    return [counts, *columns]


def _assembled(kept: Sequence[pa.StructArray], wanted: StatisticsRequest) -> pa.StructArray:
    counts, *columns = kept
    type_ = statistics_type(wanted.logical)
    by_kind = {name: member(counts, name) for name in _COUNTS}
    for kind in _KINDS:
        fields = list(type_.field(kind).type)
        members = [member(column, kind) for column in columns]
        by_kind[kind] = pa.StructArray.from_arrays(members, fields=fields) if fields else empty_structs(len(counts))
    known = [by_kind.get(field.name, pa.nulls(len(counts), field.type)) for field in type_]
    return pa.StructArray.from_arrays(known, fields=list(type_))


def _leaf_columns(wanted: StatisticsRequest) -> list[Path]:
    leaves = _leaf_paths(list(wanted.physical))
    kinds = ("minValues", "maxValues", "nullCount")
    return [
        (*_PARSED, "numRecords"),
        (*_PARSED, "tightBounds"),
        *((*_PARSED, kind, *leaf) for kind in kinds for leaf in leaves),
    ]


def _leaf_paths(fields: list[pa.Field]) -> list[Path]:
    paths: list[Path] = []
    for column in fields:
        below = _leaf_paths(list(column.type)) if pa.types.is_struct(column.type) else []
        paths.extend([(column.name, *leaf) for leaf in below] or [(column.name,)])
    return paths
