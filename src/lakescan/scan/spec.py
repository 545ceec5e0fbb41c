"""What is asked of a snapshot: columns, a sample, filters, limit, top-n, an aggregation, and what the planner may use.

A `ScanSpec` is a value. It opens no file and plans nothing; `scan.planning.plan` makes a `Plan` of it. Two specs
with the same token ask for the same rows of the same version, so one plan can serve both.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from lakescan.predicate import TRUE, Predicate, conjoin
from lakescan.predicate.readable import readable
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.top_rows import TopRows
from lakescan.scan.executors import Executors
from lakescan.scan.identity import AnswerIdentity
from lakescan.scan.sample import Sample
from lakescan.scan.settings import Settings
from lakescan.show.text import shown

if TYPE_CHECKING:
    from lakescan.scan.snapshot import Snapshot

# Of a longer filter, a list of thousands of values, a token has a digest and EXPLAIN the beginning.
_LONGEST = 2_000


@dataclass(frozen=True)
class ScanSpec:
    """A question about one version of a table. Made by `ScanBuilder`, which checks names and filters."""

    snapshot: "Snapshot"
    output: pa.Schema
    """The columns that rows have when they leave or, of an aggregation, that it reads."""
    sample: Sample | None = None
    """Only rows of these files; whatever else is asked is asked of them."""
    filter: Predicate = TRUE
    """Only rows for which this is true."""
    unclaimed: Predicate = TRUE
    """A filter that whoever gets the rows evaluates too: a reader drops rows by it only where that pays."""
    skip: Predicate = TRUE
    """Files and row groups without a row for which this is true may be left out; rows are not filtered."""
    limit: int | None = None
    """At most this many rows, whichever come first."""
    offset: int = 0
    """Without this many rows, whichever come first."""
    top: TopRows | None = None
    """At least the first rows by some columns; each task gives its own first ones."""
    aggregation: Aggregation | None = None
    """Partial rows of this in place of the rows; limit, offset and top have no part in it."""
    runtime: Predicate = TRUE
    """What a join found when the query ran: files without a row for which this is true are left out."""
    settings: Settings = field(default_factory=Settings)
    executors: Executors | None = field(default=None, compare=False, repr=False)
    """Who may list a log that is too large for this process; they change nothing about the rows."""

    @property
    def may_match(self) -> Predicate:
        """What a file must possibly hold to be planned."""
        return conjoin([self.filter, self.unclaimed, self.skip])

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows that leave."""
        return self.output if self.aggregation is None else self.aggregation.output(self.snapshot.schema)

    @property
    def gives_every_row(self) -> bool:
        """Whether each row that is wanted leaves: files were not chosen to give so many, nor does a row stand for a
        group of them."""
        return not (self.limit is not None or self.offset or self.top is not None or self.aggregation is not None)

    @property
    def takes_runtime_filters(self) -> bool:
        """Whether files may still be dropped when the query runs."""
        return self.settings.runtime_filters and self.gives_every_row

    @cached_property
    def token(self) -> str:
        """Everything that decides the rows, as text: short however many values a filter has."""
        return f"{self.snapshot.token} {self._question}"

    @cached_property
    def answer(self) -> AnswerIdentity:
        """What tells its answer, and how that is planned, from every other."""
        return AnswerIdentity(self.snapshot.identity, self._question, self.settings)

    @cached_property
    def _question(self) -> str:
        aggregated = "" if self.aggregation is None else f"{self.aggregation} AS [{_named_types(self.schema)}] OF "
        return (
            f"{aggregated}[{_named_types(self.output)}] "
            f"filter={_digest(self.filter)} unclaimed={_digest(self.unclaimed)} "
            f"skip={_digest(conjoin([self.skip, self.runtime]))} "
            f"limit={self.limit} offset={self.offset} top={self.top} sample={self.sample!r}"
        )

    @property
    def description(self) -> str:
        """The scan for people: EXPLAIN shows it."""
        skip = conjoin([self.skip, self.runtime])
        filters = {"filter": conjoin([self.filter, self.unclaimed]), "skip": skip}
        pushed = [
            f"{name}=[{_beginning(readable(predicate))}]" for name, predicate in filters.items() if predicate != TRUE
        ]
        others = {
            "sample": self.sample,
            "limit": self.limit,
            "top": self.top,
            "offset": self.offset or None,
            "aggregates": self.aggregation,
        }
        pushed += [f"{name}=[{what}]" for name, what in others.items() if what is not None]
        snapshot = self.snapshot
        return shown(" ".join([f"lakescan {snapshot.format} {snapshot.location}@{snapshot.version}", *pushed]))


def _named_types(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def _digest(predicate: Predicate) -> str:
    text = str(predicate)
    return text if len(text) <= _LONGEST else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _beginning(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
