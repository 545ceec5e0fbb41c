"""The tables of the matrix, written once a run."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.matrix.answers import INTERPRETED, WHOLE, confs
from tests.matrix.tables import SHAPES, declare


@pytest.fixture(scope="module", autouse=True)
def _interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spark as it is cheapest for tables of a dozen rows."""
    with confs(request.getfixturevalue("spark"), {} if WHOLE else INTERPRETED):
        yield


@pytest.fixture(scope="session")
def shaped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Makes both sides of a shape when it is first named; gives the name, for `ours_<name>` and `theirs_<name>`."""
    root: Path = tmp_path_factory.mktemp("matrix")

    @cache
    def made(name: str) -> str:
        (shape,) = [shape for shape in SHAPES if shape.name == name]
        declare(spark, root, shape)
        return name

    return made
