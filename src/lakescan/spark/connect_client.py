"""`lakescan.read` and its siblings on a Spark Connect session, whose server has Lakescan: `lakescan connect` is one.

The server reads and plans; what is asked of it here is SQL and `format("lakescan")`. Errors are those of a classic
session, and a server without Lakescan is told by name.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakescan.errors import InvalidArgument, InvalidOption, NotOnConnect
from lakescan.io.locations import has_scheme
from lakescan.spark.own_errors import own_error

_MODULE = "pyspark.sql.connect."
_LACKING = ("DATA_SOURCE_NOT_FOUND", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")


def is_remote(given: object) -> bool:
    """Whether a session, or a DataFrame, is of Spark Connect."""
    return type(given).__module__.startswith(_MODULE)


def install(spark: SparkSession) -> None:
    """Nothing is installed from a client: this says where the server has no Lakescan."""
    with _named():
        try:
            spark.sql("SELECT * FROM lake_detail()").schema  # noqa: B018
        except PySparkException as failure:
            if not isinstance(own_error(str(failure)), InvalidArgument):
                raise


def attach(spark: SparkSession, name: str, path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Give the table a name in the client's own session on the server."""
    texts = json.dumps({key: str(value) for key, value in options.items()})
    with _named():
        spark.sql(f"SELECT * FROM lake_attach({_text(name)}, {_path(path)}, {_text(texts)})").collect()


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    version: int | str | None,
    timestamp: str | datetime | None,
    options: Mapping[str, Any],
) -> DataFrame:
    with _named():
        if version is None and timestamp is None:
            texts = {name: str(value) for name, value in options.items()}
            frame: DataFrame = spark.read.format("lakescan").options(**texts).load(_place(path))
        elif options:
            raise InvalidOption(next(iter(options)), "on Spark Connect give the version among the options too.")
        else:
            (row,) = spark.sql(f"SELECT format FROM lake_detail({_path(path)})").collect()
            when = (
                f"VERSION AS OF {_text(str(version))}" if version is not None else f"TIMESTAMP AS OF {_time(timestamp)}"
            )
            frame = spark.sql(f"SELECT * FROM {row.format}.`{_place(path).replace('`', '``')}` {when}")
        # Analyzed at once, so that what is wrong is told here, as in a classic session.
        frame.schema  # noqa: B018
    return frame


def changes(
    spark: SparkSession,
    path: str | os.PathLike[str],
    start: int | str | datetime,
    end: int | str | datetime | None,
) -> DataFrame:
    limits = ", ".join(
        str(limit) if isinstance(limit, int) else _time(limit) for limit in (start, end) if limit is not None
    )
    with _named():
        return spark.sql(f"SELECT * FROM table_changes_by_path({_path(path)}, {limits})")


def refuse_report() -> NoReturn:
    raise NotOnConnect(
        "A report is made of scans, which a Spark Connect client does not have: df.explain() shows the server's plan, "
        "with each scan's filter, files and tasks."
    )


@contextmanager
def _named() -> Iterator[None]:
    """What the server says, as an error of Lakescan's where it is one."""
    try:
        yield
    except PySparkException as failure:
        own = own_error(str(failure))
        if own is not None:
            raise own from failure
        if failure.getCondition() in _LACKING:
            raise NotOnConnect(
                "This Spark Connect server has no Lakescan: start it by `lakescan connect`. On another server register "
                "Lakescan's Python data source, as docs/connect.md says, or use lakescan.open(path) without Spark."
            ) from failure
        raise


def _place(path: str | os.PathLike[str]) -> str:
    """A path as another process on the same machine finds it, a location in a store as it is."""
    text = os.fspath(path)
    return text if has_scheme(text) else os.path.abspath(os.path.expanduser(text))


def _path(path: str | os.PathLike[str]) -> str:
    return _text(_place(path))


def _time(moment: str | datetime | None) -> str:
    if isinstance(moment, datetime):
        return f"TIMESTAMP {_text(moment.isoformat(' '))}"
    return _text(str(moment))


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
