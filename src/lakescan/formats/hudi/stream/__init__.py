"""A Hudi table as a stream: its snapshot, then what each range of commits wrote."""
