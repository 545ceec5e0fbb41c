"""The sample tables of Hudi; a test that damages one takes a copy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sample_tables import sample_table


@pytest.fixture(scope="session")
def unpack(sample: Callable[[str], Path]) -> Callable[[str], Path]:
    """The folder of a table by its name."""
    return sample


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """A table that the test may damage."""
    return lambda name: sample_table(name).unpack(tmp_path)
