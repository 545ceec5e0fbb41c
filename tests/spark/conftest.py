"""Fixtures that tell which process of Spark's reads a file."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest

from lakescan.reader.read_plan import ReadPlan
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.worker import partition_reader

NO_PYTHON = "/no/such/python"
WrittenDown: TypeAlias = Callable[[], list[tuple[list[str], int]]]


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a scan without a worker does without an interpreter."""
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)


@pytest.fixture
def left_to_workers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> WrittenDown:
    """What workers were told since the test began: the files of each task, and from which row of the first on."""
    folder = str(tmp_path_factory.mktemp("told"))

    def written_down(plan: ReadPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        read = partition_reader(plan)

        def told(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import os
            import uuid

            for batch in tasks:
                row = {name: batch.column(at)[0].as_py() for at, name in enumerate(["task", "first", "pieces", "row"])}
                paths = pickle.loads(row["task"]).pieces["path"].to_pylist()
                with open(os.path.join(folder, str(uuid.uuid4())), "wb") as file:
                    pickle.dump((paths[row["first"] : row["first"] + row["pieces"]], row["row"]), file)
                yield from read(iter([batch]))

        return told

    monkeypatch.setattr("lakescan.spark.dsv2.scan.partition_reader", written_down)
    return lambda: sorted(pickle.loads(file.read_bytes()) for file in Path(folder).iterdir())
