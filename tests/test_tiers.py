"""The tiers of the tests: what is in the core, in which order files come, and what is said at the end."""

import random
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.progress import _reason
from tests.tiers import _SLOWEST, CORE, _shuffled, file_of, is_core

ROOT = Path(__file__).parents[1]


def items(*names: str) -> list[pytest.Item]:
    return cast(list[pytest.Item], [SimpleNamespace(nodeid=name) for name in names])


@pytest.mark.parametrize("name", [*CORE, *_SLOWEST])
def test_what_a_tier_names_is_there(name: str) -> None:
    assert (ROOT / file_of(name)).exists()
    _, _, function = name.partition("::")
    assert f"def {function}" in (ROOT / file_of(name)).read_text() if function else True


def test_a_test_is_of_the_core_by_its_file() -> None:
    assert is_core("tests/spark/test_errors.py::test_a_missing_commit_is_named")
    assert not is_core("tests/spark/test_load.py::test_no_temporary_file_is_left_by_queries")


def test_an_order_is_the_same_for_a_seed_and_leaves_the_tests_of_a_file_together() -> None:
    names = [f"{file}.py::test_{number}" for file in "abcdef" for number in range(9)]
    one, same, other = (
        [item.nodeid for item in _shuffled(items(*names), random.Random(seed))] for seed in ("7", "7", "8")
    )
    assert one == same != other
    assert sorted(one) == names != one
    files = [file_of(name) for name in one]
    assert sum(before != after for before, after in pairwise(files)) == 5


def test_a_skipped_test_is_shown_by_its_reason_alone() -> None:
    report: Any = SimpleNamespace(longrepr=("tests/io/test_azure.py", 7, "Skipped: make azurite"))
    assert _reason(report) == "make azurite"
