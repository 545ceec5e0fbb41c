"""Hudi's own read option that says which of a table's rows are wanted, `hoodie.datasource.query.type`.

A snapshot is everything, base and log files merged. A read-optimized query is the base files alone: faster, and each
file group as it was when last compacted. An incremental query has a function of its own, `lakescan.changes`.
"""

from collections.abc import Mapping

from lakescan.errors import InvalidOption
from lakescan.hudi.snapshot import HudiSnapshot

QUERY_TYPE = "hoodie.datasource.query.type"


def query_type(options: Mapping[str, str]) -> str:
    """What the options ask for: `snapshot` unless they say otherwise."""
    given = [value for name, value in options.items() if name.lower() == QUERY_TYPE]
    wanted = str(given[0]).lower() if given else "snapshot"
    if wanted == "incremental":
        raise InvalidOption(QUERY_TYPE, "for an incremental query use lakescan.changes(spark, path, start, end).")
    if wanted not in ("snapshot", "read_optimized"):
        raise InvalidOption(QUERY_TYPE, f"{wanted!r} is neither 'snapshot' nor 'read_optimized'.")
    return wanted


def as_asked(snapshot: HudiSnapshot, options: Mapping[str, str]) -> HudiSnapshot:
    return snapshot.read_optimized() if query_type(options) == "read_optimized" else snapshot
