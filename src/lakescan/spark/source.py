"""The table as a Python data source: `format("lakescan")`, for streams and where there is no Py4J (Spark Connect).

The version (of a batch) or the schema (of a stream) is fixed when the DataFrame is made. Spark's API prunes no
columns: a schema given by the user, a part of the table's, is how columns are left out.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from lakescan.errors import InvalidOption, LakescanError, UnknownStreamSchema, UnsupportedFeature
from lakescan.formats import FORMATS_OPTIONS, as_asked, open_table, pin_stream
from lakescan.reader.read import read_task
from lakescan.scan.stream import Offset, PinnedStream, Stream, StreamTask
from lakescan.schema import as_nullable
from lakescan.spark.stream_api import (
    HAS_ADMISSION_CONTROL,
    SupportsTriggerAvailableNow,
    limits_of,
    read_limit,
    refuse_what_the_api_lacks,
)

NAME = "lakescan"
_BATCH_ONLY = ("versionasof", "timestampasof", "filter", *FORMATS_OPTIONS)
_BATCH = ("path", "timezone", *_BATCH_ONLY)
P = ParamSpec("P")
T = TypeVar("T")


def _plainly(method: Callable[P, T]) -> Callable[P, T]:
    """Spark shows a Python error with its stack; the message says it all, our own frames only hide it."""

    @wraps(method)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(*arguments, **named)
        except LakescanError as error:
            raise error.with_traceback(None) from None

    return call


class LakescanDataSource(DataSource):
    """Registered by `lakescan.install`, or by `spark.dataSource.register(LakescanDataSource)`."""

    @_plainly
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {key.lower(): value for key, value in options.items()}
        if "path" not in self._options:
            raise InvalidOption("path", "no path is given. Write .load(path).")
        self._batch_only = [name for name in _BATCH_ONLY if name in self._options]
        table = open_table(self._options["path"], self._options.get("timezone", "UTC"))
        self._stream = None if self._batch_only else pin_stream(table, options)
        snapshot = table.snapshot(self._options.get("versionasof"), self._options.get("timestampasof"))
        as_asked(snapshot, self._options)
        self._location, self._version = snapshot.location, snapshot.version
        self._spark_schema = snapshot.spark_schema if self._stream is None else self._stream.spark_schema

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return StructType.fromJson(_nullable(json.loads(self._spark_schema)))

    @_plainly
    def reader(self, schema: StructType) -> "BatchReader":
        for option in self._options:
            if option not in _BATCH:
                raise InvalidOption(option, "it is an option of a stream (spark.readStream), not of a batch.")
        columns = _chosen(schema, self._spark_schema)
        zone = self._options.get("timezone", "UTC")
        return BatchReader(self._location, zone, self._version, columns, self._options)

    @_plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if self._batch_only:
            raise InvalidOption(
                self._batch_only[0],
                "it is an option of a batch. A stream has startingVersion and startingTimestamp, and gives every row.",
            )
        if self._stream is None:
            raise UnsupportedFeature(self._location, "reading as a stream")
        refuse_what_the_api_lacks(self._stream)
        columns = _chosen(schema, self._spark_schema)
        output = pa.schema([self._stream.schema.field(name) for name in columns])
        return (LimitedStreamReader if HAS_ADMISSION_CONTROL else PlainStreamReader)(self._stream, output)


class BatchReader(DataSourceReader):
    """One version of the table.

    It takes no pushed filters: Spark keeps the plan of a first filtered query for later queries on the same
    DataFrame, which then miss rows (seen in PySpark 4.1 and 4.3). The option `filter` is the safe way.
    """

    def __init__(
        self, location: str, zone: str, version: int | str, columns: list[str], options: Mapping[str, str]
    ) -> None:
        self._location, self._zone, self._version = location, zone, version
        self._columns, self._options = columns, options

    @_plainly
    def partitions(self) -> list[InputPartition]:
        snapshot = open_table(self._location, self._zone).snapshot(self._version)
        builder = as_asked(snapshot, self._options).scan().select(*self._columns)
        scan = (builder.filter(self._options["filter"]) if "filter" in self._options else builder).build()
        return [InputPartition(StreamTask(scan.read_plan, task)) for task in scan.tasks(os.cpu_count() or 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition)


class StreamReader(DataSourceStreamReader):
    """What the readers of all releases share."""

    def __init__(self, pinned: PinnedStream, output: pa.Schema) -> None:
        self._pinned, self._output = pinned, output

    def initialOffset(self) -> dict[str, Any]:
        return dict(self._stream.initial_offset())

    @_plainly
    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [InputPartition(task) for task in self._stream.plan(start, end, os.cpu_count() or 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition)

    def commit(self, end: Offset) -> None:
        self._stream.commit(end)

    @cached_property
    def _stream(self) -> Stream:
        return self._pinned.open(self._output)

    def __getstate__(self) -> dict[str, Any]:
        # A running stream stays on the driver; an executor only reads what its partition says.
        return {key: value for key, value in vars(self).items() if key != "_stream"}


class PlainStreamReader(StreamReader):
    """For a PySpark without admission control: each batch is all there is."""

    @_plainly
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        return dict(self._stream.end_offset())


class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):
    """For PySpark 4.2 and later."""

    def getDefaultReadLimit(self) -> Any:
        return read_limit(self._pinned.limits)

    @_plainly
    def latestOffset(self, start: Offset, limit: Any) -> dict[str, Any]:
        return dict(self._stream.next_offset(start, limits_of(limit, self._pinned.limits)))

    @_plainly
    def reportLatestOffset(self) -> dict[str, Any]:
        return dict(self._stream.newest_offset())

    @_plainly
    def prepareForTriggerAvailableNow(self) -> None:
        self._stream.fix_end()


def _rows(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    # Spark makes one partition without a value where there is nothing to read.
    if not isinstance(partition.value, StreamTask):
        return
    declared = as_nullable(partition.value.plan.output)
    try:
        for batch in read_task(partition.value.plan, partition.value.task):
            yield batch if batch.schema.equals(declared) else batch.cast(declared)
    except LakescanError as error:
        raise error.with_traceback(None) from None


def _chosen(given: StructType, spark_schema: str) -> list[str]:
    """The columns that a schema names, each one of the table's with its type."""
    known = {field["name"]: field for field in _nullable(json.loads(spark_schema))["fields"]}
    for field in _nullable(json.loads(given.json()))["fields"]:
        if field["name"] not in known:
            raise UnknownStreamSchema(field["name"], f"is not one of the table's columns: {', '.join(known)}")
        wanted = known[field["name"]]["type"]
        if _bare(field["type"]) != _bare(wanted):
            raise UnknownStreamSchema(field["name"], f"has the type {wanted} in the table, not {field['type']}")
    return list(given.names)


def _bare(found: Any) -> Any:
    """A type's JSON without what is only said about its fields."""
    if isinstance(found, list):
        return [_bare(item) for item in found]
    return (
        {key: _bare(value) for key, value in found.items() if key != "metadata"} if isinstance(found, dict) else found
    )


def _nullable(found: Any) -> Any:
    """A schema's JSON with every field, element and value nullable: rows of an older version may lack any of them."""
    if not isinstance(found, dict):
        return found
    changed = {key: _nullable(value) for key, value in found.items() if key != "fields"}
    if "fields" in found:
        changed["fields"] = [{**_nullable(field), "nullable": True} for field in found["fields"]]
    for flag in ("containsNull", "valueContainsNull"):
        if flag in changed:
            changed[flag] = True
    return changed
