"""Lakescan: Delta Lake and Apache Hudi tables for PySpark through DataSource V2, from a plain `pip install`.

`open` needs no Spark. `session`, `install`, `attach`, `read`, `changes`, `report` and `progress` are for a
SparkSession, classic or of Spark Connect; pyspark is imported when one of them is first used.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakescan import errors
from lakescan.errors import LakescanError
from lakescan.io.configuration import FROM_ENVIRONMENT, Credentials, StorageConfiguration
from lakescan.predicate import col

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from lakescan.scan.report import Report
    from lakescan.scan.snapshot import Table
    from lakescan.spark.python_source.progress import BatchProgress

__version__ = "0.1.0.dev0"
__all__ = [
    "Credentials",
    "LakescanError",
    "StorageConfiguration",
    "attach",
    "changes",
    "col",
    "errors",
    "install",
    "open",
    "progress",
    "read",
    "report",
    "session",
]


def open(
    location: str | os.PathLike[str],
    time_zone: str = "UTC",
    storage: Mapping[str, object] | StorageConfiguration = FROM_ENVIRONMENT,
) -> "Table":
    """The table at a location, whichever format it is in.

    A Delta location may name a version: `orders@v12`, or `orders@20240131120000000` for the one at that time.
    `time_zone` is for times without a zone: partition values, and the moments of time travel.
    `storage` says what opens the store: options by Hadoop's names, as `{"fs.s3a.endpoint": ...}`. They come before the
    environment of the process.
    """
    # A worker imports this module, and reads without knowing how a table is opened.
    from lakescan.formats.registry import open_table

    return open_table(location, time_zone, storage)


def session(**conf: Any) -> "SparkSession":
    """A local SparkSession with Lakescan installed, quiet, its workers on this interpreter.

    Settings are given by name, with underscores for dots: `session(spark_sql_shuffle_partitions=4)`; `master` and
    `app_name` as they are. An active session is used as it is.
    """
    from lakescan.spark.session import make_session

    return make_session(conf)


def install(spark: "SparkSession", claim_delta: bool = False) -> "SparkSession":
    """Make ``delta.`/path` ``, ``hudi.`/path` `` and `lake.<name>` work in a session; twice is the same as once.

    Where the session has Delta's own catalog, the name `delta` stays Delta's unless `claim_delta` is true: then what is
    read by it, in SQL or by `format("delta")`, is read by Lakescan, and all else stays Delta's.
    """
    from lakescan.spark import connect_client

    if connect_client.is_remote(spark):
        connect_client.install(spark)
        return spark
    from lakescan.spark.dsv2.install import install_catalogs

    install_catalogs(spark, claimed=["delta"] if claim_delta else [])
    return spark


def attach(
    spark: "SparkSession", name: str, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None
) -> None:
    """Give the table at a path a name: `SELECT … FROM lake.<name>`. Installs Lakescan where it is not yet.

    Options are those of `read`, for every query that uses the name.
    """
    from lakescan.spark import connect_client

    if connect_client.is_remote(spark):
        return connect_client.attach(spark, name, path, options or {})
    from lakescan.spark.dsv2.install import attach_table

    attach_table(spark, name, path, options or {})


def read(
    spark: "SparkSession",
    path: str | os.PathLike[str],
    version: int | str | None = None,
    timestamp: str | datetime | None = None,
    options: Mapping[str, Any] | None = None,
) -> "DataFrame":
    """A DataFrame over one version of the table: the newest, or the one asked for. It stays at that version.

    Options are settings by name, for this DataFrame alone: `{"lakescan.pushdown.limit": False}`; of a Hudi table also
    `{"hoodie.datasource.query.type": "read_optimized"}`, which reads base files only.
    """
    from lakescan.spark import connect_client

    if connect_client.is_remote(spark):
        return connect_client.read(spark, path, version, timestamp, options or {})
    from lakescan.spark.dsv2.table import read_table

    return read_table(spark, path, version, timestamp, options or {})


def changes(
    spark: "SparkSession",
    path: str | os.PathLike[str],
    start: int | str | datetime,
    end: int | str | datetime | None = None,
) -> "DataFrame":
    """The rows that a range of commits inserted, deleted and updated: the table's change data feed.

    `start` and `end` are versions or times, both included; without an end the newest version. To the table's columns
    it adds `_change_type`, `_commit_version` and `_commit_timestamp`.
    """
    from lakescan.spark import connect_client

    if connect_client.is_remote(spark):
        return connect_client.changes(spark, path, start, end)
    from lakescan.spark.dsv2.table import read_changes

    return read_changes(spark, path, start, end)


def report(df: "DataFrame") -> "Report":
    """What each scan of a query by Lakescan considered, skipped and reads."""
    from lakescan.spark import connect_client

    if connect_client.is_remote(df):
        connect_client.refuse_report()
    from lakescan.spark.query_report import report_of

    return report_of(df)


def progress(query: "StreamingQuery") -> "list[BatchProgress]":
    """What each batch of a stream from `format("lakescan")` read, and how far behind the newest version it is."""
    from lakescan.spark.python_source.progress import progress_of

    return progress_of(query)
