"""The planner: from a snapshot and what a query wants to the files and tasks that are read. Knows no engine."""
