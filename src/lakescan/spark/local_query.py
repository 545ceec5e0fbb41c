"""A query on an embedded local Spark, its rows as Arrow batches: a partition's worth is held, never all of them."""

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timezone
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakescan.errors import QueryFailed
from lakescan.spark.dsv2.install import attach_table
from lakescan.spark.own_errors import own_error
from lakescan.spark.session import make_session
from lakescan.types.schema import arrow_schema, is_variant

_ROWS_A_BATCH = 4096


def spark_query(sql: str, tables: Mapping[str, str], options: Mapping[str, str], time_zone: str) -> DataFrame:
    """The query over tables that go by their names, and as `lake.<name>`; the process is in UTC from then on."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    with without_the_noise_of_a_start():
        spark = make_session({"app_name": "lakescan query", "spark_sql_session_timeZone": time_zone})
    for name, path in tables.items():
        attach_table(spark, name, path, options)
        spark.table(f"lake.`{name}`").createOrReplaceTempView(f"`{name}`")
    return spark.sql(sql)


@contextmanager
def named_failures() -> Iterator[None]:
    """What Spark raises, as an error of Lakescan's: its own again where it was one, in one sentence."""
    level = logging.root.manager.disable
    if not os.environ.get("LAKESCAN_DEBUG"):
        # PySpark and Py4J log what they raise, with all of Java's stack.
        logging.disable(logging.CRITICAL)
    try:
        yield
    except PySparkException as failure:
        raise own_error(str(failure)) or QueryFailed(_first_sentence(str(failure))) from failure
    finally:
        logging.disable(level)


def _first_sentence(text: str) -> str:
    return text.strip().split("\n")[0].split(" SQLSTATE")[0].rstrip(".;")


@contextmanager
def without_the_noise_of_a_start() -> Iterator[None]:
    """Java and Spark say things on stderr when they start that are no part of an answer."""
    if os.environ.get("LAKESCAN_DEBUG"):
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def arrow_schema_of(df: DataFrame) -> pa.Schema:
    """The columns of the answer."""
    return arrow_schema(df.schema.jsonValue())


def batches_of(df: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in their order."""
    rows = df.toLocalIterator(prefetchPartitions=True)
    while part := list(islice(rows, _ROWS_A_BATCH)):
        arrays = [
            pa.array([_value(row[at], field.type) for row in part], field.type) for at, field in enumerate(schema)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _value(value: Any, type_: pa.DataType) -> Any:
    """A value of PySpark's as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_timestamp(type_):
        # PySpark gives moments in the zone of the process, which `spark_query` has made UTC.
        return value if type_.tz is None else value.replace(tzinfo=timezone.utc)
    if is_variant(type_):
        return {"value": value.value, "metadata": value.metadata}
    if pa.types.is_struct(type_):
        return {field.name: _value(value[at], field.type) for at, field in enumerate(type_)}
    if pa.types.is_map(type_):
        return [(_value(key, type_.key_type), _value(item, type_.item_type)) for key, item in value.items()]
    if pa.types.is_list(type_):
        return [_value(item, type_.value_type) for item in value]
    return value
