"""What a scan tells Spark's SQL metrics: the main figures of its planning, once a query."""

from lakescan.scan.planning import PlannedFiles
from lakescan.scan.report import TABLE

METRICS = {
    "lakescanFilesTotal": "files in the table",
    "lakescanFilesRead": "files to read",
    "lakescanBytesTotal": "bytes in the table",
    "lakescanBytesRead": "bytes to read",
    "lakescanRowsDeleted": "rows dropped by deletion vectors",
    "lakescanPlanningMs": "planning time in ms",
}


def metric_values(planned: PlannedFiles) -> dict[str, int]:
    """A value for each of `METRICS`; those of the whole table only where planning listed all of it."""
    first, last = planned.steps[0], planned.steps[-1]
    table = {"lakescanFilesTotal": first.files, "lakescanBytesTotal": first.bytes} if first.name == TABLE else {}
    return {
        **table,
        "lakescanFilesRead": last.files,
        "lakescanBytesRead": last.bytes,
        "lakescanRowsDeleted": planned.rows_deleted,
        "lakescanPlanningMs": round(planned.planning_ms),
    }
