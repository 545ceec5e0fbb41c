"""What runs on an executor: one task to Arrow batches. Knows no engine and no log."""
