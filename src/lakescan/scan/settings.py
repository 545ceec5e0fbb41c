"""The switches: which pushdowns a scan may use. All are on unless a setting says otherwise.

A setting is named `lakescan.pushdown.<switch>` (or `lakescan.planning.threads`), as a Spark conf, where it may
also begin with `spark.`, or as a read option. Switching a pushdown off changes what is read, never the answer.
A name that begins with `lakescan.` and is not known is an error: a mistyped switch must not go unnoticed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lakescan.errors import InvalidSetting, UnknownSetting

_PREFIX = "lakescan."
_SWITCHES = "lakescan.pushdown."
_THREADS = "lakescan.planning.threads"


@dataclass(frozen=True)
class Settings:
    """What a scan may do. A field that is a switch has the name of its setting."""

    filters: bool = True
    """Filters that the reader evaluates exactly are claimed from Spark."""
    skipping: bool = True
    """Files that cannot match are skipped by their statistics."""
    row_groups: bool = True
    """Row groups that cannot match are skipped inside a file."""
    generated_columns: bool = True
    """Filters on a base column give filters on the partition column generated from it."""
    runtime_filters: bool = True
    """Values that a join finds at run time skip files."""
    columns: bool = True
    """Only the columns and nested fields that the query needs are read."""
    limit: bool = True
    offset: bool = True
    top_n: bool = True
    aggregates: bool = True
    """Aggregates are answered from metadata where it is exact."""
    partial_aggregates: bool = True
    """What is left of an aggregate is computed in the workers."""
    plain_files: bool = True
    """Files that need nothing but decoding are read by Spark's own Parquet reader, without a worker."""
    statistics: bool = True
    """The optimizer is told rows and columns' statistics, not only bytes."""
    planning_threads: int = 4

    @staticmethod
    def of(*sources: Mapping[str, Any]) -> "Settings":
        """The settings that the sources give together; a later source wins over an earlier one."""
        found = Settings()
        for source in sources:
            for key, value in source.items():
                name = key.lower().removeprefix("spark.")
                if name.startswith(_PREFIX):
                    found = found._with(name, str(value))
        return found

    def _with(self, name: str, value: str) -> "Settings":
        if name == _THREADS:
            if not value.strip().isdigit() or int(value) < 1:
                raise InvalidSetting(name, value, "a number of threads, at least 1")
            return replace(self, planning_threads=int(value))
        if name not in setting_names():
            raise UnknownSetting(name, setting_names())
        truth = {"true": True, "false": False}.get(value.strip().lower())
        if truth is None:
            raise InvalidSetting(name, value, "true or false")
        return replace(self, **{name.removeprefix(_SWITCHES): truth})


def setting_names() -> list[str]:
    """Every setting by its full name."""
    return [_SWITCHES + field.name for field in fields(Settings) if field.type in (bool, "bool")] + [_THREADS]
