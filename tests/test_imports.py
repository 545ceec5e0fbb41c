"""`import lakescan` loads only what every table needs; what an extra brings is asked for by name if it is missing."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.tables import DeltaBuilder

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import lakescan
"""


def run(code: str, *missing: str) -> subprocess.CompletedProcess[str]:
    """Some code in a process of its own, in which these packages are not installed."""
    whole = WITHOUT.format(missing=set(missing) or "()") + code
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False)


@pytest.fixture
def table(tmp_path: Path) -> str:
    built = DeltaBuilder(tmp_path / "delta", pa.schema([("id", pa.int64())]))
    built.append(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
    return built.path


def test_importing_lakescan_loads_nothing_that_only_some_tables_need() -> None:
    process = run("print(sorted({'sqlglot', 'pyroaring', 'hudi', 'fastavro', 'pyspark', 'pandas'} & set(sys.modules)))")
    assert process.stdout.strip() == "[]", process.stderr


def test_a_worker_loads_what_reads_and_nothing_that_plans() -> None:
    """It is started for a query that waits for it, and again after a minute without work."""
    process = run(
        "import lakescan.spark.dsv2.worker, lakescan.formats.delta.data_files\n"
        "print(sorted(name for name in sys.modules if name.startswith(('lakescan.scan', 'lakescan.formats.registry'))))"
    )
    assert process.stdout.strip() == "[]", process.stderr


def test_a_delta_table_is_read_without_any_extra(table: str) -> None:
    process = run(
        f"print(lakescan.open({table!r}).snapshot().scan().filter('id > 1').build().to_arrow().num_rows)",
        *("pyspark", "py4j", "hudi", "fastavro"),
    )
    assert process.stdout.strip() == "2", process.stderr


def test_a_hudi_table_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t\n")
    process = run(f"lakescan.open({str(tmp_path)!r})", "hudi")
    assert "MissingPackage" in process.stderr
    assert f"The Hudi table {tmp_path}" in process.stderr
    assert "pip install 'lakescan[hudi]'" in process.stderr


@pytest.mark.parametrize("call", ["lakescan.session()", "lakescan.read(None, '/t')", "lakescan.install(None)"])
def test_what_needs_spark_says_what_to_install(call: str) -> None:
    process = run(call, "pyspark")
    assert "MissingPackage" in process.stderr
    assert "pip install 'lakescan[spark]'" in process.stderr
