"""The golden Hudi tables, unpacked; they are read-only, so a test that damages one takes a copy."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def unpack(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a golden table by its name."""
    root = tmp_path_factory.mktemp("hudi")

    def table(name: str) -> Path:
        folder = root / name
        if not folder.exists():
            with zipfile.ZipFile(golden / "hudi" / f"{name}.zip") as archive:
                archive.extractall(folder)
        (found,) = [path for path in folder.iterdir() if path.name != "__MACOSX"]
        return found

    return table


@pytest.fixture
def copy(unpack: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A golden table that the test may damage."""

    def table(name: str) -> Path:
        return Path(shutil.copytree(unpack(name), tmp_path / name))

    return table
