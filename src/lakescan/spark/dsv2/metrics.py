"""What a scan tells Spark's SQL metrics: the main figures of its planning, once a query."""

from lakescan.scan.pruning import PlannedFiles
from lakescan.scan.report import TABLE

COUNTS = {
    "lakescanFilesTotal": "files in the table",
    "lakescanFilesRead": "files to read",
    "lakescanRowsDeleted": "rows dropped by deletion vectors",
    "lakescanPlanningMs": "planning time in ms",
    "lakescanOptimizationsFailed": "optimizations that failed",
}
SIZES = {
    "lakescanBytesTotal": "size of the table",
    "lakescanBytesRead": "size of files to read",
}


def metrics(planned: PlannedFiles, failed: int = 0) -> dict[str, int]:
    """Each metric's value; those of the whole table only where planning listed all of it, and the number of failed
    optimizations only where some failed."""
    first, last = planned.steps[0], planned.steps[-1]
    values = {
        "lakescanFilesRead": last.files,
        "lakescanBytesRead": last.bytes,
        "lakescanRowsDeleted": planned.rows_deleted,
        "lakescanPlanningMs": round(planned.planning_ms),
    }
    if failed:
        values["lakescanOptimizationsFailed"] = failed
    if first.name == TABLE:
        values |= {"lakescanFilesTotal": first.files, "lakescanBytesTotal": first.bytes}
    return values
