"""The switches: which pushdowns a scan may use. All are on unless a setting says otherwise.

A setting is named `lakescan.pushdown.<switch>` (or `lakescan.planning.…`), as a Spark conf, where it may
also begin with `spark.`, or as a read option. Switching a pushdown off changes what is read, never the answer; what
only a pushdown can answer, `TABLESAMPLE SYSTEM`, Spark refuses then.
A name that begins with `lakescan.` and is not known is an error: a mistyped switch must not go unnoticed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lakescan.errors import InvalidSetting, UnknownSetting
from lakescan.options import TRUE_OR_FALSE, Option, Options, Read, Value, nearest
from lakescan.scan.kept_columns import DEFAULT_BYTES

_PREFIX = "lakescan."
# Which interpreter plans for a driver that is not Python: nothing that a scan may do.
_OF_DRIVERS = "spark.lakescan.python"
_SWITCHES = "lakescan.pushdown."
_THREADS = "lakescan.planning.threads"
_KEPT = "lakescan.planning.kept.bytes"
_BY_PARTITION = "lakescan.planning.by_partition"
_STORE_FILES = "lakescan.planning.store_files"
_DISTRIBUTED = "lakescan.replay.distributed.files"
_DISTRIBUTED_FILES = 5_000_000


def _switch(says: str, *, of_streams: bool = False) -> Any:
    return field(default=True, metadata={"says": says, "of_streams": of_streams})


@dataclass(frozen=True)
class Settings:
    """What a scan may do. A field that is a switch has the name of its setting."""

    filters: bool = _switch("Filters that the reader evaluates exactly are claimed from Spark.")
    skipping: bool = _switch("Files that cannot match are skipped by their statistics.")
    row_groups: bool = _switch("Row groups that cannot match are skipped inside a file.")
    generated_columns: bool = _switch("A filter on a base column filters the partition column generated from it.")
    runtime_filters: bool = _switch("Values that a join finds at run time skip files.")
    columns: bool = _switch("Only the columns and nested fields that a query needs are read.", of_streams=True)
    variants: bool = _switch(
        "[What a query takes out of a Variant](skipping.md#variants) is taken out by the scan (Spark 4.3 and later)."
    )
    sample: bool = _switch("[`TABLESAMPLE SYSTEM`](skipping.md#samples) takes whole files; off, Spark refuses it.")
    limit: bool = _switch("`LIMIT` reads the fewest files that surely fill it.")
    offset: bool = _switch("`OFFSET` without `LIMIT` drops whole files.")
    top_n: bool = _switch("`ORDER BY … LIMIT n` reads the files that can hold one of the first n rows.")
    aggregates: bool = _switch("[Aggregates](aggregates.md) are answered from metadata where it is exact.")
    partial_aggregates: bool = _switch("What is left of an aggregate is computed in the workers.")
    subqueries: bool = _switch(
        "[Subqueries](aggregates.md#subqueries) that aggregate the same rows of a table to one value each are one scan."
    )
    plain_files: bool = _switch(
        "[What Spark's own Parquet reader can read](reading.md#which-process-reads) is read by it, without a worker.",
        of_streams=True,
    )
    statistics: bool = _switch(
        "The optimizer is told rows, columns' statistics and what filters may leave, not only bytes."
    )
    planning_threads: int = 4
    kept_bytes: int = DEFAULT_BYTES
    by_partition: bool = False
    """Whether each task has rows of one partition value, for joins that need no shuffle then."""
    store_files: bool = False
    """Whether executors read files in a store too, by Hadoop's file systems."""
    distributed_files: int = _DISTRIBUTED_FILES

    @staticmethod
    def of(*sources: Mapping[str, Any]) -> "Settings":
        """The settings that the sources give together; a later source wins over an earlier one."""
        settings = Settings()
        for source in sources:
            for key, value in source.items():
                name = key.lower().removeprefix("spark.")
                if name.startswith(_PREFIX) and key != _OF_DRIVERS:
                    settings = settings._with(name, str(value))
        return settings

    def _with(self, name: str, value: str) -> "Settings":
        if name == _THREADS:
            if not value.strip().isdigit() or int(value) < 1:
                raise InvalidSetting(name, value, "a number of threads, at least 1")
            return replace(self, planning_threads=int(value))
        if name == _KEPT:
            if not value.strip().isdigit():
                raise InvalidSetting(name, value, "a number of bytes, not negative")
            return replace(self, kept_bytes=int(value))
        if name == _DISTRIBUTED:
            if not value.strip().isdigit() or int(value) < 1:
                raise InvalidSetting(name, value, "a number of files, at least 1")
            return replace(self, distributed_files=int(value))
        if name not in setting_names():
            raise UnknownSetting(name, nearest(name, setting_names()) or setting_names())
        truth = {"true": True, "false": False}.get(value.strip().lower())
        if truth is None:
            raise InvalidSetting(name, value, "true or false")
        return replace(self, **{name.rpartition(".")[2]: truth})


def setting_names() -> list[str]:
    """Every setting by its full name."""
    return [option.name for option in OPTIONS.known]


def _options() -> Options:
    batch = (Read.BATCH, Read.CHANGES)
    switches = [
        Option(
            _SWITCHES + switch.name,
            (*batch, Read.STREAM) if switch.metadata["of_streams"] else batch,
            TRUE_OR_FALSE,
            switch.metadata["says"],
            (f"spark.{_SWITCHES}{switch.name}",),
        )
        for switch in fields(Settings)
        if "says" in switch.metadata
    ]
    threads = Value("a number, at least 1; 4 unless it is given")
    says = "How many scans are planned side by side."
    size = Value(f"a number of bytes; {DEFAULT_BYTES} unless it is given")
    keeps = "How many bytes of statistics that were parsed are kept for later queries, of all tables together."
    by_partition = (
        "Each task has rows of one [partition value](skipping.md#joins-without-a-shuffle), and Spark is told so: joins "
        "and aggregates by partition columns shuffle nothing. `false` unless it is given."
    )
    store_files = (
        "Files in a store too are read by Spark's own Parquet reader, through "
        "[Hadoop's file system](stores.md#files-that-executors-read-by-hadoop). `false` unless it is given."
    )
    files = Value(f"a number of files, at least 1; {_DISTRIBUTED_FILES} unless it is given")
    replays = "From how many files on [executors replay a log](planning.md#on-the-executors), and not the driver."
    planning = [
        Option(_THREADS, batch, threads, says, (f"spark.{_THREADS}",)),
        Option(_KEPT, batch, size, keeps, (f"spark.{_KEPT}",)),
        Option(_BY_PARTITION, batch, TRUE_OR_FALSE, by_partition, (f"spark.{_BY_PARTITION}",)),
        Option(_STORE_FILES, batch, TRUE_OR_FALSE, store_files, (f"spark.{_STORE_FILES}",)),
        Option(_DISTRIBUTED, batch, files, replays, (f"spark.{_DISTRIBUTED}",)),
    ]
    return Options("", (*switches, *planning))


OPTIONS = _options()
