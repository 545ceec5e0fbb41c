"""What the scans of a query did, found in the query's own plan."""

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from lakescan.scan.report import Report, ScanReport
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.run_metrics import Measured, explained, measured
from lakescan.spark.dsv2.pushed_aggregates import MetadataScan
from lakescan.spark.dsv2.scan import SparkScan


def report_of(df: DataFrame) -> Report:
    bridge = Bridge(df.sparkSession)
    scans = [scan for scan in bridge.scans_of(df) if isinstance(scan, (SparkScan, MetadataScan))]
    # Whether tasks were made says whether it ran: the plan that runs is not to be made for a report.
    has_run = any(isinstance(scan, SparkScan) and scan.readers for scan in scans)
    figures = measured(bridge, df) if has_run else []
    return Report(tuple(_report(scan, figures) for scan in scans), partial(explained, df))


def _report(scan: SparkScan | MetadataScan, figures: list[tuple[object, Measured]]) -> ScanReport:
    planned = replace(scan.last_run.report(), failed=scan.failed)
    if isinstance(scan, MetadataScan):
        return planned
    own = [figure for other, figure in figures if other is scan]
    rows = [figure.rows for figure in own if figure.rows is not None]
    times = [figure.task_ms for figure in own if figure.task_ms is not None]
    return replace(
        planned,
        readers=scan.readers,
        why_workers=scan.why_workers,
        rows=sum(rows) if rows else None,
        reading_ms=float(sum(times)) if times else None,
    )
