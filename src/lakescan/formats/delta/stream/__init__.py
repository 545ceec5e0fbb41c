"""A Delta table as a stream, without an engine: where it starts, what a batch holds, what is refused."""
