"""Apache Hudi: from `.hoodie` to a `scan.Snapshot`, on the `hudi` package (hudi-rs)."""

from lakescan.hudi.table import HudiTable, is_hudi

__all__ = ["HudiTable", "is_hudi"]
