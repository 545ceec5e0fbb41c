"""One question to one engine about one table, in a process of its own: prints the answer as JSON.

    python benchmarks/planning_question.py lakescan /path/to/table point 500005

Whoever starts it measures it: the time and memory of the whole process, imports included.
"""

import json
import sys
from collections.abc import Callable
from datetime import date
from typing import Any

DAY = "2024-03-05"


def lakescan_answer(path: str, question: str, id_: int) -> Any:
    import lakescan

    snapshot = lakescan.open(path).snapshot()
    scan = snapshot.scan()
    if question == "count":
        return snapshot.num_files
    if question == "inspect":
        from lakescan.scan.inspection import inspect

        inspection = inspect(snapshot)
        return [inspection.files, inspection.bytes, inspection.rows]
    filters = {"point": lakescan.col("id") == id_, "day": lakescan.col("day") == date.fromisoformat(DAY)}
    if question in filters:
        scan = scan.filter(filters[question])
    return (scan.limit(10) if question == "limit" else scan).build().planned.files.num_rows


def delta_rs_answer(path: str, question: str, id_: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    table = DeltaTable(path)
    if question == "all":
        return table.get_add_actions(flatten=True).num_rows
    if question == "inspect":
        adds = pa.table(table.get_add_actions(flatten=True))
        return [adds.num_rows, pc.sum(adds["size_bytes"]).as_py(), pc.sum(adds["num_records"]).as_py()]
    filters = {"point": f"id = {id_}", "day": f"day = '{DAY}'", "count": None}
    return len(table.file_uris(file_pruning_predicate=filters[question]))


ENGINES: dict[str, Callable[[str, str, int], Any]] = {"lakescan": lakescan_answer, "delta-rs": delta_rs_answer}

if __name__ == "__main__":
    engine, path, question, id_ = sys.argv[1:]
    print(json.dumps(ENGINES[engine](path, question, int(id_))))
