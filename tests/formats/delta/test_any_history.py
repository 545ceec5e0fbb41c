"""An open table gives what a fresh reader gives, whatever happens to its folder between two questions."""

import threading
from pathlib import Path
from random import Random

import pytest

import lakescan
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.snapshot import Snapshot, Table
from tests.examples import seeds
from tests.histories import Place

STEPS = 20
COUNTED = Aggregation(
    (), (Aggregate("count_rows"), Aggregate("min", Column(("id",))), Aggregate("max", Column(("id",))))
)


def check(snapshot: Snapshot, expected: list[int], random: Random) -> None:
    bound = random.randrange(10, 100)
    found = snapshot.scan().filter(f"id >= {bound}").build().to_arrow()["id"].to_pylist()
    assert sorted(found) == [id_ for id_ in expected if id_ >= bound]
    counted = snapshot.scan().aggregate(COUNTED).build().to_arrow().to_pylist()
    ends = [min(expected), max(expected)] if expected else [None, None]
    if counted or expected:
        count, least, greatest = counted[0].values()
        assert [count or 0, least, greatest] == [len(expected), *ends]
    assert sorted(snapshot.scan().build().to_arrow()["id"].to_pylist()) == expected


def check_all(tables: list[Table], places: list[Place], random: Random) -> None:
    for table, place in zip(tables, places, strict=True):
        check(table.snapshot(), place.rows(), random)
        version = random.choice(place.versions)
        check(table.snapshot(version), place.rows(version), random)
        check(lakescan.open(f"{place.path}@v{version}").snapshot(), place.rows(version), random)


@pytest.mark.parametrize("seed", seeds(5))
def test_every_answer_is_that_of_a_fresh_reader(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    places = [Place(tmp_path / name, random) for name in ("a", "b", "c")]
    tables: list[Table] = [lakescan.open(place.path) for place in places]
    for _ in range(STEPS):
        random.choice(places).change(places)
        failed: list[BaseException] = []

        def ask(seed: int, failed: list[BaseException] = failed) -> None:
            try:
                check_all(tables, places, Random(seed))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=ask, args=[random.random()]) for _ in range(random.choice([1, 1, 3]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
