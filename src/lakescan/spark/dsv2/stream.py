"""A stream as Spark runs it: offsets from one to the next, and tasks between two.

The stream itself is the format's (`stream.Stream`); each batch is read by the same readers as any scan: Spark's own
Parquet reader where a file needs only decoding, else a worker. `StreamScan.java` is Spark's side of it: it asks for
what only Python knows, and gives a batch the columns and filters of its query. Offsets are the JSON that
`format("lakescan")` writes, so a checkpoint of one is a checkpoint of the other.
"""

import json
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import count, groupby
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from lakescan.errors import InternalError, UnsupportedFeature
from lakescan.predicate import TRUE, Predicate, columns_of, conjoin, implied
from lakescan.reader.read_plan import ReadTask
from lakescan.scan.estimates import scaled, share_of_columns
from lakescan.scan.packing import piece_bytes
from lakescan.scan.settings import Settings
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.streams import packed, stream_scan
from lakescan.spark.bridge.tasks import TaskBlock, block_of_one
from lakescan.spark.dsv2.comparable_columns import ComparableColumns
from lakescan.spark.dsv2.plain_files import PlainColumns, plain_columns, plain_pieces
from lakescan.spark.dsv2.predicates import read_expression
from lakescan.spark.dsv2.worker import shipped, stream_reader, worker_schema
from lakescan.spark.given_schema import all_nullable
from lakescan.stream.narrowing import narrowed
from lakescan.stream.stream import Limits, Offset, PinnedStream, Stream, StreamTask

_NUMBERS = count(1)
_READ = shipped(stream_reader)


@dataclass(frozen=True)
class StreamedTable:
    """What the scans of one stream share."""

    bridge: Bridge
    location: str
    pinned: PinnedStream
    settings: Settings
    columns: tuple[str, ...]
    """Those of the stream's that Spark has met."""

    @cached_property
    def name(self) -> str:
        """Spark shows it as the source's description, and tells streams apart by it: two of one table are two."""
        return f"lakescan stream {next(_NUMBERS)} of {self.location}"

    @cached_property
    def schema(self) -> StructType:
        struct = all_nullable(json.loads(self.pinned.schema_json))
        fields = {field["name"]: field for field in struct["fields"]}
        return StructType.fromJson({**struct, "fields": [fields[name] for name in self.columns]})

    @cached_property
    def stream(self) -> Stream:
        return self.pinned.open(pa.schema([self.pinned.schema.field(name) for name in self.columns]))


class StreamScanBuilder(Proxy):
    """A scan that Spark will stream."""

    def __init__(self, bridge: Bridge, table: StreamedTable) -> None:
        super().__init__(bridge)
        self._table = table

    def pruneColumns(self, schema: JavaObject) -> None:
        """Spark 4.2 and later tell here which columns the stream has, hidden ones among them."""
        _refuse_unknown(self._table, json.loads(schema.json()))

    def build(self) -> JavaObject:
        return scan_of(self._table, self._table.schema)

    class Java:
        implements = (READ + "SupportsPushDownRequiredColumns",)


def scan_of(table: StreamedTable, schema: StructType, wanted: Predicate = TRUE, narrow: bool = False) -> JavaObject:
    """The stream with some of its columns, and without files of which no row makes `wanted` true."""
    shown = "" if wanted == TRUE else f" skip=[{wanted}]"
    return stream_scan(
        table.bridge,
        BatchPlanner(table, schema, wanted),
        table.name,
        f"lakescan stream {table.location} columns=[{', '.join(schema.names)}]{shown}",
        schema.json(),
        narrow,
        table.stream.initial_offset(),
        table.pinned.limits,
    )


class BatchPlanner(Proxy):
    """What `StreamScan.java` asks of Python: in and out go text and bytes."""

    def __init__(self, table: StreamedTable, schema: StructType, wanted: Predicate) -> None:
        super().__init__(table.bridge)
        self._table, self._schema, self._wanted = table, schema, wanted
        self._plain: PlainColumns | None = None
        self._planned = False

    def apply(self, what: str, told: Any) -> Any:
        match what:
            case "next":
                return self._next(told, self._table.pinned.limits)
            case "next of all":
                return self._next(told, Limits())
            case "plan":
                return packed(self._told(self._tasks(*json.loads(told))))
            case "factory":
                return self.bridge.reader_factory(_READ, worker_schema(self._schema), False, self._plain)
            case "commit":
                return self._table.stream.commit(json.loads(told))
            case "checkpoint":
                return self._table.stream.at_checkpoint(told)
            case "fix end":
                return self._table.stream.fix_end()
            case "narrow":
                return self._narrow(told)
        raise InternalError(f"a stream is asked for {what}")

    def andThen(self, *_: object) -> None:
        raise InternalError("a stream is asked for more than one thing")

    def _next(self, start: str, limits: Limits) -> str:
        """The end of the next batch, empty where there is none, and behind it where a stream would be at the end."""
        begun = json.loads(start)
        reached = self._table.stream.next_offset(begun, limits)
        newest = json.dumps(dict(self._table.stream.newest_offset()))
        # Spark compares offsets by their text, and other engines that go on from these write no spaces.
        return f"{'' if reached is begun else json.dumps(dict(reached), separators=(',', ':'))}\n{newest}"

    def _tasks(self, start: Offset, end: Offset) -> list[StreamTask]:
        tasks = self._table.stream.plan(start, end, self._parallelism)
        whole = self._schema == self._table.schema and self._wanted == TRUE
        return tasks if whole else narrowed(tasks, self._schema.names, self._wanted)

    @cached_property
    def _parallelism(self) -> int:
        return self.bridge.parallelism

    def _told(self, tasks: Iterable[StreamTask]) -> Iterable[TaskBlock]:
        """The tasks as they travel; those of one plan together."""
        for _, run in groupby(tasks, key=lambda task: id(task.plan)):
            together = list(run)
            plain = plain_pieces(together[0].plan, self._plain_columns(together[0]), [task.task for task in together])
            share = share_of_columns(together[0].plan.schema, self._table.pinned.schema)
            sizes = (
                scaled(piece_bytes(one.task.pieces), share) if isinstance(one.task, ReadTask) else 0 for one in together
            )
            yield from map(block_of_one, map(pickle.dumps, together), plain, sizes)

    def _plain_columns(self, task: StreamTask) -> PlainColumns | str:
        """The columns with which Spark's own reader may read a task, why a worker has to where it cannot.

        They are one set for all batches, as the factory of readers is one: files that name their columns otherwise are
        a worker's.
        """
        if not self._table.settings.plain_files:
            return "lakescan.pushdown.plain_files is off"
        columns = plain_columns(task.plan, self._schema)
        if not self._planned:
            self._plain, self._planned = None if isinstance(columns, str) else columns, True
        return columns if columns == self._plain else "columns of another batch"

    def _narrow(self, told: JavaObject) -> JavaObject:
        """The scan of some columns (a line each) with some predicates."""
        names, predicates = str(told[0]).split("\n"), told[1]
        table = self._table
        known = {field["name"]: field for field in table.schema.jsonValue()["fields"]}
        _refuse_unknown(table, {"fields": [{"name": name} for name in names]})
        kept = names if table.settings.columns else list(known)
        schema = StructType.fromJson({"type": "struct", "fields": [known[name] for name in kept]})
        wanted = conjoin([self._implied(predicate) for predicate in predicates])
        return scan_of(table, schema, wanted, narrow=True)

    def _implied(self, predicate: JavaObject) -> Predicate:
        """What a filter of the query says of a stream's rows; nothing where Spark compares in a way of its own."""
        said = implied(read_expression(self.bridge, predicate), self._table.pinned.schema, self.bridge.time_zone)
        comparable = ComparableColumns(self._table.schema.jsonValue())
        return said if all(comparable.field(column.path) for column in columns_of(said)) else TRUE

    class Java:
        implements = ("java.util.function.BiFunction",)


def _refuse_unknown(table: StreamedTable, schema: dict[str, Any]) -> None:
    for field in schema["fields"]:
        if field["name"] not in table.schema.names:
            raise UnsupportedFeature(
                table.location, f"the hidden column {field['name']} in a stream", "Read it in a batch."
            )
