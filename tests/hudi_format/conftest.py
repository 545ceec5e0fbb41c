"""The golden Hudi tables and those of `tests/data/hudi`, unpacked; a test that damages one takes a copy."""

import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

OURS = Path(__file__).parents[1] / "data" / "hudi"


@pytest.fixture(scope="session")
def unpack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a table by its name."""
    root = tmp_path_factory.mktemp("hudi")

    def table(name: str) -> Path:
        folder = root / name
        ours = OURS / f"{name}.tar.xz"
        if not folder.exists() and ours.exists():
            with tarfile.open(ours) as archive:
                archive.extractall(folder, filter="data")
        elif not folder.exists():
            with zipfile.ZipFile(request.getfixturevalue("golden") / "hudi" / f"{name}.zip") as archive:
                archive.extractall(folder)
        (found,) = [path for path in folder.iterdir() if path.name != "__MACOSX"]
        return found

    return table


@pytest.fixture
def copy(unpack: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A table that the test may damage."""

    def table(name: str) -> Path:
        return Path(shutil.copytree(unpack(name), tmp_path / name))

    return table
