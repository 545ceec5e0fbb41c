"""`spark-submit` on a real standalone cluster: what executors must have, and what they need not have."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from tests.spark.standalone import Cluster, cluster, python_with
from tests.tables import DeltaBuilder

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(500)]
ROOT = Path(__file__).parents[2]
# What `pip install lakescan` brings to a reader of Delta tables; PySpark's workers have PySpark from Spark itself.
ARROW = ("pyarrow", "numpy")
NEEDED = (*ARROW, "pyroaring", "sqlglot")
ALL = pytest.mark.skipif(
    not os.environ.get("LAKESCAN_CLUSTERS"), reason="LAKESCAN_CLUSTERS=1 (make clusters) tests every way to install"
)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = DeltaBuilder(
        tmp_path_factory.mktemp("tables") / "plain", pa.schema([("id", pa.int64()), ("day", pa.date32())]), ["day"]
    )
    for day in (1, 2, 3):
        table.append(pa.table({"id": [day, 10 * day]}), partition={"day": f"2024-01-0{day}"})
    return str(table.path)


@pytest.fixture(scope="module")
def deleted(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tables") / "deleted"
    table = DeltaBuilder(folder, pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    for storage in "ui":
        table.delete(table.append(pa.table({"id": range(10)})), [0, 4, 5, 9], storage)
    return str(table.path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = folder.glob("*.whl")
    return str(built)


PLAIN_IDS = [1, 2, 3, 10, 20, 30]
KEPT_IDS = [1, 1, 2, 2, 3, 3, 6, 6, 7, 7, 8, 8]


def test_executors_that_have_lakescan_read_with_their_workers(standalone: Cluster, plain: str, deleted: str) -> None:
    assert standalone.submit([(plain, False), (deleted, False)], sys.executable)[1:] == [PLAIN_IDS, KEPT_IDS]


def test_executors_need_no_python_where_tasks_only_decode(standalone: Cluster, plain: str, deleted: str) -> None:
    reads = [(plain, True), (deleted, True), (plain, False)]
    used, rows, kept, by_a_worker = standalone.submit(reads, "/no/such/python")
    assert used == lakescan.__file__
    assert (rows, kept) == (PLAIN_IDS, KEPT_IDS)
    assert "/no/such/python" in by_a_worker


@ALL
def test_a_packed_environment_is_enough(standalone: Cluster, plain: str, wheel: str, tmp_path: Path) -> None:
    import venv_pack

    python = python_with(tmp_path / "environment", NEEDED)
    site = next((tmp_path / "environment").glob("lib/python*/site-packages"))
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, str(site)], check=True)
    output = str(tmp_path / "environment.tar.gz")
    packed = venv_pack.pack(prefix=str(tmp_path / "environment"), output=output, compress_level=1)
    Path(python).unlink()
    archive = ("--archives", f"{packed}#environment")
    assert standalone.submit([(plain, False)], "./environment/bin/python", *archive)[1:] == [PLAIN_IDS]


@ALL
def test_a_wheel_is_sent_as_it_is(standalone: Cluster, deleted: str, wheel: str, tmp_path: Path) -> None:
    python = python_with(tmp_path / "python", NEEDED)
    # The driver's interpreter has Lakescan installed; the wheel comes first there as well.
    used, rows = standalone.submit([(deleted, False)], python, "--py-files", wheel)
    assert rows == KEPT_IDS
    assert used.startswith(wheel)


@ALL
def test_a_worker_that_lacks_lakescan_says_what_to_do(standalone: Cluster, plain: str, tmp_path: Path) -> None:
    python = python_with(tmp_path / "python", ARROW)
    _, said, rows = standalone.submit([(plain, False), (plain, True)], python)
    assert f"Lakescan is not installed where Spark's Python workers run ({python}). Install it there" in said
    assert rows == PLAIN_IDS, "decoding needs no worker"


@ALL
def test_a_worker_that_lacks_even_arrow_is_told_so_by_pyspark(standalone: Cluster, plain: str, tmp_path: Path) -> None:
    _, said = standalone.submit([(plain, False)], python_with(tmp_path / "python", ()))
    assert "No module named 'pyarrow'" in said


@ALL
def test_a_worker_with_a_wheel_but_not_what_it_needs_names_the_package(
    standalone: Cluster, deleted: str, wheel: str, tmp_path: Path
) -> None:
    python = python_with(tmp_path / "python", ARROW)
    _, said = standalone.submit([(deleted, False)], python, "--py-files", wheel)
    assert "No module named 'pyroaring'" in said
