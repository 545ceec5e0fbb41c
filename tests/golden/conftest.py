"""The golden tables, or, where LAKESCAN_GOLDEN does not name their folder, one skipped test instead of them."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import GOLDEN

collect_ignore_glob = [] if os.environ.get("LAKESCAN_GOLDEN") else ["test_delta*.py", "test_hudi*.py", "test_spark*.py"]


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of tables that other engines wrote."""
    return GOLDEN


@pytest.fixture(scope="session")
def unpack(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a Hudi table by its name."""
    root = tmp_path_factory.mktemp("hudi")

    def table(name: str) -> Path:
        folder = root / name
        if not folder.exists():
            with zipfile.ZipFile(golden / "hudi" / f"{name}.zip") as archive:
                archive.extractall(folder)
        (path,) = [path for path in folder.iterdir() if path.name != "__MACOSX"]
        return path

    return table
