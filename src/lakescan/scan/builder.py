"""How a scan is asked for: filter, select, limit, then build.

A builder never changes: each call gives a new one. Names and filters are checked against the table's schema
in the call that gives them, so a mistake is told where it was made.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lakescan.errors import InvalidLimit
from lakescan.predicate import TRUE, Column, Predicate, bind, conjoin, parse
from lakescan.predicate.bind import resolve
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.top_rows import SortColumn, TopRows
from lakescan.scan.aggregate_scan import AggregateScan
from lakescan.scan.limit import can_skip
from lakescan.scan.scan import Scan
from lakescan.scan.settings import Settings
from lakescan.schema import prune

if TYPE_CHECKING:
    from lakescan.scan.snapshot import Snapshot


@dataclass(frozen=True)
class ScanBuilder:
    """What is wanted of a snapshot so far."""

    snapshot: "Snapshot"
    predicate: Predicate = TRUE
    hint: Predicate = TRUE
    output: pa.Schema | None = None
    row_limit: int | None = None
    row_offset: int = 0
    top: TopRows | None = None
    settings: Settings = field(default_factory=Settings)

    def filter(self, predicate: Predicate | str) -> "ScanBuilder":
        """Only rows for which this is true; called twice, for which both are."""
        return replace(self, predicate=conjoin([self.predicate, self._bound(predicate)]))

    def skip_unless(self, predicate: Predicate | str) -> "ScanBuilder":
        """Files and row groups without a row for which this is true may be left out; rows are not filtered."""
        return replace(self, hint=conjoin([self.hint, self._bound(predicate)]))

    def select(self, *columns: str) -> "ScanBuilder":
        """Only these columns, in this order; hidden ones too (`_metadata`), and fields of them (`_metadata.row_id`)."""
        schema, hidden = self._named, self.snapshot.hidden_columns
        paths = [resolve(Column(_path(name, hidden)), schema)[0].path for name in columns]
        # Several fields of one hidden column are asked for apart and given together.
        given = {field.name: field for field in prune(hidden, hidden, set(paths))[0]}
        names = [path[0] for at, path in enumerate(paths) if path[0] not in given or path[0] not in _firsts(paths[:at])]
        return self.project(pa.schema([given.get(name) or schema.field(name) for name in names]))

    def project(self, output: pa.Schema) -> "ScanBuilder":
        """Only these columns, and of structs only these fields; a part of the table's schema."""
        return replace(self, output=output)

    def limit(self, rows: int) -> "ScanBuilder":
        """At most this many rows, whichever come first."""
        if rows < 0:
            raise InvalidLimit(rows)
        return replace(self, row_limit=rows)

    @property
    def can_skip_rows(self) -> bool:
        """Whether `offset` may be asked for: no filter on data columns, and every file says how many rows it has."""
        return can_skip(self.build().planned, conjoin([self.predicate, self.hint]))

    def offset(self, rows: int) -> "ScanBuilder":
        """Without this many rows, whichever come first; only where `can_skip_rows`."""
        if rows < 0:
            raise InvalidLimit(rows)
        return replace(self, row_offset=rows)

    def first(self, rows: int, *by: SortColumn) -> "ScanBuilder":
        """At least the first rows by these columns: each task gives its own first ones, in no certain order."""
        if rows < 0:
            raise InvalidLimit(rows)
        bound = [replace(sort, column=resolve(sort.column, self.snapshot.schema)[0]) for sort in by]
        return replace(self, top=TopRows(tuple(bound), rows))

    def with_settings(self, settings: Settings) -> "ScanBuilder":
        """The same scan, allowed only what the settings allow."""
        return replace(self, settings=settings)

    def aggregate(self, how: Aggregation) -> AggregateScan:
        """An aggregation of the rows, as far as they are filtered; a limit or an offset has no part in it."""
        schema = self.snapshot.schema
        output, _ = prune(schema, schema, {column.path for column in how.columns})
        return AggregateScan(replace(self, output=output, row_limit=None, row_offset=0, top=None).build(), how)

    def build(self) -> Scan:
        output = self.snapshot.schema if self.output is None else self.output
        return Scan(
            self.snapshot,
            self.predicate,
            self.hint,
            output,
            self.row_limit,
            self.row_offset,
            self.top,
            self.settings,
        )

    def _bound(self, predicate: Predicate | str) -> Predicate:
        return bind(parse(predicate) if isinstance(predicate, str) else predicate, self._named)

    @property
    def _named(self) -> pa.Schema:
        """Every column that a query may name."""
        return pa.schema([*self.snapshot.schema, *self.snapshot.hidden_columns])


def _firsts(paths: list[tuple[str, ...]]) -> set[str]:
    return {path[0] for path in paths}


def _path(name: str, hidden: pa.Schema) -> tuple[str, ...]:
    """A column's name as it is, dots and all; only below a hidden column does a dot lead to a field."""
    first, dot, field = name.partition(".")
    return (first, field) if dot and first in hidden.names else (name,)
