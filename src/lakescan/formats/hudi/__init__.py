"""Apache Hudi: from `.hoodie` to a `scan.Snapshot`, on the `hudi` package; `format.py` is what the list has of it."""
