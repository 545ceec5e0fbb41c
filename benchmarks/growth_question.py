"""One question of `growth.py` to one engine, in a process of its own: prints processor time and memory as JSON.

    python benchmarks/growth_question.py lakescan "columns: every row" /path/to/table 500

Imports are not counted: the engine answers a small question first.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Ask = Callable[[str, int], Any]


def _scan(path: str) -> Any:
    import lakescan

    return lakescan.open(path).snapshot().scan()


def _rows(path: str, **options: Any) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path).to_pyarrow_table(**options)


def _filtered(condition: Callable[[int], str], *columns: str) -> Ask:
    return lambda path, n: _scan(path).filter(condition(n)).select(*columns).build().to_arrow()


def _aggregated(path: str, n: int) -> Any:
    from lakescan.predicate import Column
    from lakescan.reader.aggregation import Aggregate, Aggregation

    functions = tuple(Aggregate("max", Column((f"c{at}",))) for at in range(n))
    return _scan(path).aggregate(Aggregation((), functions)).build().to_arrow()


def _top(path: str, n: int) -> Any:
    from lakescan.predicate import Column
    from lakescan.reader.top_rows import SortColumn

    return _scan(path).first(5, SortColumn(Column(("c0",)), True, False)).build().to_arrow()


def _pieces(path: str, n: int) -> Any:
    from lakescan.reader.read import read_task

    plan = _scan(path).build()
    size = int(plan.planned.files["size"][0].as_py())
    return [list(read_task(plan.read_plan, task)) for task in plan.pack(plan.planned.files, n // 4, size * 4 // n)]


def _changes(path: str, n: int) -> Any:
    import lakescan

    return lakescan.open(path).changes(0, n).scan().build().to_arrow()


def _history(path: str, n: int) -> Any:
    import lakescan

    return lakescan.open(path).history()


def _every_version(path: str, n: int) -> Any:
    import lakescan

    return [lakescan.open(path).snapshot(version).num_files for version in (n // 4, n // 2, n)]


def _names(n: int) -> list[str]:
    return [f"c{at}" for at in range(n)]


LAKESCAN: dict[str, Ask] = {
    "columns: every row": lambda path, n: _scan(path).build().to_arrow(),
    "columns: one of them": lambda path, n: _scan(path).select("c5").build().to_arrow(),
    "columns: each by its name": lambda path, n: _scan(path).select(*_names(n)).build().to_arrow(),
    "columns: estimates": lambda path, n: _scan(path).build().estimates(True),
    "columns of a filter": _filtered(lambda n: " AND ".join(f"c{at} >= 0" for at in range(n)), "c1"),
    "functions of an aggregation": _aggregated,
    "fields of a struct": lambda path, n: _scan(path).build().to_arrow(),
    "depth of a struct": lambda path, n: _scan(path).build().to_arrow(),
    "partition columns": lambda path, n: _scan(path).filter("p0 = 'v0'").build().to_arrow(),
    "partition values": lambda path, n: _scan(path).filter("p0 = 'v3'").build().to_arrow(),
    "files: a filter": _filtered(lambda n: "c0 = 7", "c0"),
    "files: a limit": lambda path, n: _scan(path).limit(3).build().to_arrow(),
    "files: the first rows": _top,
    "commits without a checkpoint": lambda path, n: _scan(path).build().planned.files.num_rows,
    "rows that are deleted": lambda path, n: _scan(path).build().to_arrow(),
    "row groups: every row": lambda path, n: _scan(path).build().to_arrow(),
    "row groups: a filter": _filtered(lambda n: "c0 = 7", "c0"),
    "row groups, a quarter as many pieces": _pieces,
    "length of a value": lambda path, n: _scan(path).build().to_arrow(),
    "literals of IN": _filtered(lambda n: f"c0 IN ({', '.join(map(str, range(n)))})", "c0"),
    "terms of AND": _filtered(lambda n: " AND ".join(f"c0 <> {at + 100}" for at in range(n)), "c0"),
    "terms of OR": _filtered(lambda n: " OR ".join(f"c0 = {at}" for at in range(n)), "c0"),
    "versions of a history": _history,
    "versions of changes": _changes,
    "versions of a time travel": _every_version,
}
DELTA_RS: dict[str, Ask] = {
    "columns: every row": lambda path, n: _rows(path),
    "columns: one of them": lambda path, n: _rows(path, columns=["c5"]),
    "columns: each by its name": lambda path, n: _rows(path, columns=_names(n)),
    "fields of a struct": lambda path, n: _rows(path),
    # Not the depth of a struct: delta-rs refuses 64 levels.
    "partition columns": lambda path, n: _rows(path, partitions=[("p0", "=", "v0")]),
    "partition values": lambda path, n: _rows(path, partitions=[("p0", "=", "v3")]),
    "commits without a checkpoint": lambda path, n: _delta(path).file_uris(),
    "row groups: every row": lambda path, n: _rows(path),
    "length of a value": lambda path, n: _rows(path),
    "versions of a history": lambda path, n: _delta(path).history(),
    "versions of a time travel": lambda path, n: [
        len(_delta(path, version).file_uris()) for version in (n // 4, n // 2, n)
    ],
}
ENGINES = {"lakescan": LAKESCAN, "delta-rs": DELTA_RS}


def _delta(path: str, version: int | None = None) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path, version=version)


if __name__ == "__main__":
    engine, question, warm_up, path, size = sys.argv[1:]
    ENGINES[engine]["columns: one of them"](warm_up, 8)
    began = time.process_time()
    ENGINES[engine][question](path, int(size))
    spent = time.process_time() - began
    print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
