"""Scalar subqueries that aggregate the same rows of a table, answered by one scan.

`SELECT (SELECT count(*) FROM t WHERE x > 5), (SELECT avg(y) FROM t WHERE x > 5)` reads `t` once. Scans are merged where
they ask for the same in all but the aggregates, so each subquery gets what it would have got alone.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from lakescan.reader.aggregation import Aggregation
from lakescan.scan.aggregates import can_read
from lakescan.scan.attempts import attempt
from lakescan.scan.builder import ScanBuilder
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.subqueries import MergedScan, merge_subqueries
from lakescan.spark.dsv2.planners import planning
from lakescan.spark.dsv2.scan import SparkScan


def install_merging(spark: SparkSession) -> None:
    """From now on the session's subqueries are merged."""
    merge_subqueries(Bridge(spark), lambda scans: attempt("subqueries", lambda: merged_scans(scans), list))


def merged_scans(scans: Sequence[object]) -> list[MergedScan]:
    """The scans that take the place of these, each of which aggregates to one row; those of others are left alone."""
    of_rows: dict[Hashable, dict[int, SparkScan]] = {}
    for at, scan in enumerate(scans):
        if isinstance(scan, SparkScan) and scan.spec.settings.subqueries and _aggregation(scan) is not None:
            of_rows.setdefault(_rows(scan), {})[at] = scan
    # Spark itself runs equal subqueries once.
    several = (group for group in of_rows.values() if len({_aggregation(scan) for scan in group.values()}) > 1)
    return [merged for merged in map(_merged, several) if merged is not None]


def _aggregation(scan: SparkScan) -> Aggregation | None:
    """What it asks for of all rows at once."""
    how = scan.spec.aggregation
    return None if how is None or how.keys else how


def _rows(scan: SparkScan) -> Hashable:
    """Which rows it aggregates, and by which settings."""
    spec = scan.spec
    everything = replace(spec, aggregation=None, output=spec.snapshot.schema)
    return everything.answer


def _merged(scans: Mapping[int, SparkScan]) -> MergedScan | None:
    """One scan for all of these; None where workers cannot compute all of it together."""
    known = {at: how.aggregates for at, scan in scans.items() if (how := _aggregation(scan)) is not None}
    types = {
        aggregate: field
        for at, aggregates in known.items()
        for aggregate, field in zip(aggregates, scans[at].schema.fields, strict=True)
    }
    places = {aggregate: place for place, aggregate in enumerate(types)}
    first = next(iter(scans.values()))
    planned = planning(ScanBuilder(first.spec).aggregate(Aggregation((), tuple(types))).spec)
    if not can_read(planned.plan.result()):
        return None
    fields = [StructField(f"value_{place}", field.dataType) for place, field in enumerate(types.values())]
    merged = SparkScan(first.bridge, planned, StructType(fields))
    return MergedScan(merged, {at: tuple(places[one] for one in aggregates) for at, aggregates in known.items()})
