"""What the scans of a query did, found in the query's own plan."""

from pyspark.sql import DataFrame

from lakescan.scan.report import Report
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.aggregates import MetadataScan
from lakescan.spark.dsv2.scan import SparkScan


def report_of(df: DataFrame) -> Report:
    scans = Bridge(df.sparkSession).scans_of(df)
    return Report(tuple(scan.last_run.report() for scan in scans if isinstance(scan, (SparkScan, MetadataScan))))
