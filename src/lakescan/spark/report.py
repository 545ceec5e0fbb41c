"""What the scans of a query did, found in the query's own plan."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from lakescan.scan.report import ScanReport
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.aggregates import MetadataScan
from lakescan.spark.dsv2.scan import SparkScan


@dataclass(frozen=True)
class Report:
    """One report a scan, in the order of the plan."""

    scans: tuple[ScanReport, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.scans)) or "no scan by Lakescan in this query"


def report_of(df: DataFrame) -> Report:
    scans = Bridge(df.sparkSession).scans_of(df)
    return Report(tuple(scan.last_run.report() for scan in scans if isinstance(scan, (SparkScan, MetadataScan))))
