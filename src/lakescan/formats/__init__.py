"""Table formats, a folder each. `registry.py` lists them: a worker, which reads one format's files, does without it."""
