"""Delta Lake: from `_delta_log` to a `scan.Snapshot`."""

from lakescan.delta.table import DeltaTable, is_delta, open_delta

__all__ = ["DeltaTable", "is_delta", "open_delta"]
