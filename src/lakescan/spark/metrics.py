"""What a scan tells Spark's SQL metrics: the main figures of its planning, once a query."""

from lakescan.scan.report import ScanReport

METRICS = {
    "lakescanFilesTotal": "files in the table",
    "lakescanFilesRead": "files to read",
    "lakescanBytesTotal": "bytes in the table",
    "lakescanBytesRead": "bytes to read",
    "lakescanRowsDeleted": "rows dropped by deletion vectors",
    "lakescanPlanningMs": "planning time in ms",
}


def metric_values(report: ScanReport) -> dict[str, int]:
    """A value for each of `METRICS`."""
    return {
        "lakescanFilesTotal": report.files_total,
        "lakescanFilesRead": report.files_planned,
        "lakescanBytesTotal": report.bytes_total,
        "lakescanBytesRead": report.bytes_planned,
        "lakescanRowsDeleted": report.rows_deleted,
        "lakescanPlanningMs": round(report.planning_ms),
    }
