"""What a scan tells Spark's SQL metrics: the main figures of its planning, once a query."""

from lakescan.scan.pruning import PlannedFiles
from lakescan.scan.report import TABLE

_NAMES = {
    "lakescanFilesTotal": "files in the table",
    "lakescanFilesRead": "files to read",
    "lakescanBytesTotal": "bytes in the table",
    "lakescanBytesRead": "bytes to read",
    "lakescanRowsDeleted": "rows dropped by deletion vectors",
    "lakescanPlanningMs": "planning time in ms",
}


def metrics(planned: PlannedFiles) -> dict[str, tuple[str, int]]:
    """What each metric is called and its value; those of the whole table only where planning listed all of it."""
    first, last = planned.steps[0], planned.steps[-1]
    values = {
        "lakescanFilesRead": last.files,
        "lakescanBytesRead": last.bytes,
        "lakescanRowsDeleted": planned.rows_deleted,
        "lakescanPlanningMs": round(planned.planning_ms),
    }
    if first.name == TABLE:
        values |= {"lakescanFilesTotal": first.files, "lakescanBytesTotal": first.bytes}
    return {name: (_NAMES[name], value) for name, value in values.items()}
