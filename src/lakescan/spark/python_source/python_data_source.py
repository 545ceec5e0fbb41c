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
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from lakescan.errors import (
    InvalidOption,
    LakescanError,
    ReadOnly,
    TableNotFound,
    UnsupportedFeature,
)
from lakescan.formats.registry import asked, checked, open_table, options_of, pin_stream, pinned
from lakescan.options import OF_A_SOURCE, Read
from lakescan.reader.read import read_task
from lakescan.scan.settings import Settings
from lakescan.spark.bridge.python_source import session_zone
from lakescan.spark.given_schema import all_nullable, chosen_columns, is_of_a_catalog
from lakescan.spark.python_source.stream_api import (
    HAS_ADMISSION_CONTROL,
    SupportsTriggerAvailableNow,
    limits_of,
    read_limit,
    refuse_what_the_api_lacks,
)
from lakescan.stream.options import OF_A_BATCH
from lakescan.stream.stream import Offset, PinnedStream, Stream, StreamTask
from lakescan.types.schema import as_nullable

NAME = "lakescan"
_ALL = (Read.BATCH, Read.CHANGES, Read.STREAM)
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
        options = {name: value for name, value in options.items() if not is_of_a_catalog(name.lower())}
        named = {name.lower(): value for name, value in options.items()}
        if "path" not in named:
            # Spark hands a Python source none of the OPTIONS of a table in its own catalog.
            raise InvalidOption(
                "path",
                "no path is given. Write .load(path); and in place of CREATE TABLE … USING lakescan, whose OPTIONS "
                "Spark does not pass on, lakescan.attach(spark, name, path) and lake.<name>.",
            )
        self._zone = named.get("timezone", session_zone())
        # A write is refused for being one, also where there is no table yet: that there is none is told to readers.
        self._missing: TableNotFound | None = None
        try:
            table = open_table(named["path"], self._zone)
        except TableNotFound as error:
            self._missing = error.with_traceback(None)
            return
        Settings.of(options)
        self._given = checked(options, table.format, *_ALL, more=OF_A_SOURCE)
        own = {name: value for name, value in self._given.items() if OF_A_SOURCE.find(name) is None}
        self._location = table.location
        self._of_a_batch_only = _not_of(self._given, table.format, Read.STREAM)
        of_a_stream_only = _not_of(self._given, table.format, Read.BATCH, Read.CHANGES)
        self._stream = None if self._of_a_batch_only else pin_stream(table, own)
        # Which of the two it will be is not told yet: what is wrong for a batch alone waits for one.
        self._batch: dict[str, str] | LakescanError
        if of_a_stream_only:
            self._batch = InvalidOption(of_a_stream_only[0], "it is an option of a stream (spark.readStream).")
        else:
            try:
                snapshot = asked(table, own, table.snapshot)
                self._batch = pinned(snapshot, own)
                self._spark_schema = snapshot.schema_json
            except LakescanError as error:
                if self._stream is None:
                    raise
                self._batch = error.with_traceback(None)
        if self._stream is not None:
            self._spark_schema = self._stream.schema_json

    @classmethod
    def name(cls) -> str:
        return NAME

    @_plainly
    def schema(self) -> StructType:
        self._refuse_missing()
        return StructType.fromJson(all_nullable(json.loads(self._spark_schema)))

    @_plainly
    def reader(self, schema: StructType) -> "BatchReader":
        self._refuse_missing()
        if isinstance(self._batch, LakescanError):
            raise self._batch
        columns = chosen_columns(schema, self._spark_schema)
        return BatchReader(self._location, self._zone, self._batch, columns, self._given.get("filter"))

    @_plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._refuse_missing()
        if self._of_a_batch_only:
            raise InvalidOption(self._of_a_batch_only[0], OF_A_BATCH)
        if self._stream is None:
            raise UnsupportedFeature(self._location, "reading as a stream")
        refuse_what_the_api_lacks(self._stream)
        columns = chosen_columns(schema, self._spark_schema)
        output = pa.schema([self._stream.schema.field(name) for name in columns])
        return (LimitedStreamReader if HAS_ADMISSION_CONTROL else PlainStreamReader)(self._stream, output)

    @_plainly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        raise ReadOnly('format("lakescan")', "Writing")

    @_plainly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        raise ReadOnly('format("lakescan")', "Writing a stream")

    def _refuse_missing(self) -> None:
        if self._missing is not None:
            raise self._missing


class BatchReader(DataSourceReader):
    """One version of the table.

    It takes no pushed filters: Spark keeps the plan of a first filtered query for later queries on the same
    DataFrame, which then miss rows (seen in PySpark 4.1 and 4.3). The option `filter` is the safe way.
    """

    def __init__(
        self, location: str, zone: str, options: Mapping[str, str], columns: list[str], filter_: str | None
    ) -> None:
        self._location, self._zone, self._options = location, zone, options
        self._columns, self._filter = columns, filter_

    @_plainly
    def partitions(self) -> list[InputPartition]:
        table = open_table(self._location, self._zone)
        builder = asked(table, self._options, table.snapshot).scan().with_settings(Settings.of(self._options))
        wanted = builder.select(*self._columns)
        scan = (wanted if self._filter is None else wanted.filter(self._filter)).build()
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


def _not_of(given: Mapping[str, str], format_: str, *reads: Read) -> list[str]:
    """The given options that none of these reads takes."""
    known = (options_of(format_) + OF_A_SOURCE).of_read(*reads)
    return [name for name in given if all(name != option.name for option in known)]
