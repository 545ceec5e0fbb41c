"""How a scan is asked for: sample, filter, select, limit, then build.

A builder never changes: each call gives a new one. Names and filters are checked against the table's schema
in the call that gives them, so a mistake is told where it was made.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakescan.errors import InvalidLimit
from lakescan.predicate import Column, Predicate, bind, conjoin, parse
from lakescan.predicate.bind import resolve
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.top_rows import SortColumn, TopRows
from lakescan.scan.executors import Executors
from lakescan.scan.plan import Plan
from lakescan.scan.planning import plan
from lakescan.scan.sample import Sample
from lakescan.scan.settings import Settings
from lakescan.scan.spec import ScanSpec
from lakescan.types.schema import prune

if TYPE_CHECKING:
    from lakescan.scan.snapshot import Snapshot


@dataclass(frozen=True, repr=False)
class ScanBuilder:
    """What is wanted of a snapshot so far."""

    spec: ScanSpec

    def __repr__(self) -> str:
        return f"<{self.spec.description}, not planned yet: .build() plans it>"

    @staticmethod
    def of(snapshot: "Snapshot") -> "ScanBuilder":
        """All rows of a snapshot."""
        return ScanBuilder(ScanSpec(snapshot, snapshot.schema))

    def sample(self, fraction: float, seed: int = 0) -> "ScanBuilder":
        """Only rows of about this fraction of the files, which are read whole; the same seed takes the same files of a
        version. Whatever else is asked is asked of the sample."""
        return self._with(sample=Sample(fraction, seed))

    def filter(self, predicate: Predicate | str) -> "ScanBuilder":
        """Only rows for which this is true; called twice, for which both are."""
        return self._with(filter=conjoin([self.spec.filter, self._bound(predicate)]))

    def filter_unclaimed(self, predicate: Predicate | str) -> "ScanBuilder":
        """Rows for which this is not true may be dropped or not: whoever gets the rows evaluates it too."""
        return self._with(unclaimed=conjoin([self.spec.unclaimed, self._bound(predicate)]))

    def skip_unless(self, predicate: Predicate | str) -> "ScanBuilder":
        """Files and row groups without a row for which this is true may be left out; rows are not filtered."""
        return self._with(skip=conjoin([self.spec.skip, self._bound(predicate)]))

    def select(self, *columns: str) -> "ScanBuilder":
        """Only these columns, in this order; hidden ones too (`_metadata`), and fields of them (`_metadata.row_id`)."""
        schema, hidden = self._named, self.spec.snapshot.hidden_columns
        paths = [resolve(Column(_path(name, hidden)), schema)[0].path for name in columns]
        # Several fields of one hidden column are asked for apart and given together.
        given = {field.name: field for field in prune(hidden, hidden, set(paths))[0]}
        names = [path[0] for at, path in enumerate(paths) if path[0] not in given or path[0] not in _firsts(paths[:at])]
        return self.project(pa.schema([given.get(name) or schema.field(name) for name in names]))

    def project(self, output: pa.Schema) -> "ScanBuilder":
        """Only these columns, and of structs only these fields; a part of the table's schema."""
        return self._with(output=output)

    def limit(self, rows: int) -> "ScanBuilder":
        """At most this many rows, whichever come first."""
        return self._with(limit=_not_negative(rows))

    def offset(self, rows: int) -> "ScanBuilder":
        """Without this many rows, whichever come first; only where `scan.limit.can_skip` says so of the plan."""
        return self._with(offset=_not_negative(rows))

    def first(self, rows: int, *by: SortColumn) -> "ScanBuilder":
        """At least the first rows by these columns: each task gives its own first ones, in no certain order."""
        schema = self.spec.snapshot.schema
        bound = [replace(sort, column=resolve(sort.column, schema)[0]) for sort in by]
        return self._with(top=TopRows(tuple(bound), _not_negative(rows)))

    def with_settings(self, settings: Settings) -> "ScanBuilder":
        """The same scan, allowed only what the settings allow."""
        return self._with(settings=settings)

    def with_executors(self, executors: Executors) -> "ScanBuilder":
        """The same scan, whose planning may be done by others where the log is large."""
        return self._with(executors=executors)

    def aggregate(self, how: Aggregation) -> "ScanBuilder":
        """An aggregation of the rows, as far as they are filtered; a limit or an offset has no part in it."""
        schema = self.spec.snapshot.schema
        output, _ = prune(schema, schema, {column.path for column in how.columns})
        return self._with(output=output, limit=None, offset=0, top=None, aggregation=how)

    def build(self) -> Plan:
        """The scan, planned: which files are read, and what was known without them."""
        return plan(self.spec)

    def _with(self, **changed: Any) -> "ScanBuilder":
        return ScanBuilder(replace(self.spec, **changed))

    def _bound(self, predicate: Predicate | str) -> Predicate:
        return bind(parse(predicate) if isinstance(predicate, str) else predicate, self._named)

    @property
    def _named(self) -> pa.Schema:
        """Every column that a query may name."""
        return pa.schema([*self.spec.snapshot.schema, *self.spec.snapshot.hidden_columns])


def _not_negative(rows: int) -> int:
    if rows < 0:
        raise InvalidLimit(rows)
    return rows


def _firsts(paths: list[tuple[str, ...]]) -> set[str]:
    return {path[0] for path in paths}


def _path(name: str, hidden: pa.Schema) -> tuple[str, ...]:
    """A column's name as it is, dots and all; only below a hidden column does a dot lead to a field."""
    first, dot, field = name.partition(".")
    return (first, field) if dot and first in hidden.names else (name,)
