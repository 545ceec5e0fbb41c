"""Delta Lake: from `_delta_log` to a `scan.Snapshot`; `format.py` is what the list of formats has of it."""
