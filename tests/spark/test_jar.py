"""`lakescan jar` in drivers that are not Python: the `spark-sql` shell, Spark's own Connect server, its Thrift server,
and an application of Java's; and that nothing of Python's is left of them.
"""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from tests.processes import wait_for
from tests.spark.connect import ask
from tests.spark.drivers import HOME, Driver, driver, environment, free_port
from tests.tables import DeltaBuilder

pytestmark = [pytest.mark.own_jvm, pytest.mark.timeout(500)]
SCHEMA = pa.schema([("id", pa.int64())])
ALL = pytest.mark.skipif(
    not os.environ.get("LAKESCAN_SHELLS"), reason="LAKESCAN_SHELLS=1 (make shells) tests applications of Java's too"
)


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> str:
    given = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache") / "not" / "there")}
    words = [sys.executable, "-m", "lakescan", "jar"]
    made = subprocess.run(words, capture_output=True, text=True, env=given)
    assert (made.returncode, made.stderr) == (0, "")
    # Without Java nothing can be compiled: this is the one that was made.
    again = subprocess.run(words, capture_output=True, text=True, env={**given, "JAVA_HOME": "/no/such/java"})
    assert (again.returncode, again.stdout) == (0, made.stdout)
    return made.stdout.removesuffix("\n")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path_factory.mktemp("lake") / "orders", SCHEMA)
    table.append(pa.table({"id": range(10)}))
    table.append(pa.table({"id": range(10, 30)}))
    return table


@pytest.fixture(scope="module")
def settings(jar: str, table: DeltaBuilder) -> dict[str, str]:
    return {
        "spark.jars": jar,
        "spark.sql.catalog.lake": "lakescan.LakeCatalog",
        "spark.sql.catalog.lake.folder": str(Path(table.path).parent),
    }


def test_the_jar_is_one_file_with_classes_and_says_which_are_for_sessions(jar: str) -> None:
    assert os.listdir(Path(jar).parent) == [Path(jar).name]
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        (provider,) = [archive.read(name).decode().strip() for name in names if name.startswith("META-INF/services/")]
    assert f"{provider.replace('.', '/')}.class" in names
    assert {"lakescan/LakeCatalog.class", "delta/DefaultSource.class", "hudi/DefaultSource.class"} <= names


class Shells:
    """The shell that the tests share, and its interpreter; another one where a test has ended it or needs a new one."""

    def __init__(self, settings: dict[str, str], folders: pytest.TempPathFactory) -> None:
        self.python = folders.mktemp("python") / "python"
        self._settings = {**settings, "spark.lakescan.python": str(self.python)}
        self._folders = folders
        self._shell: Driver | None = None
        self._running = ExitStack()

    def without_python(self) -> Driver:
        """One that has not found its interpreter yet."""
        self.stop()
        self.python.unlink(missing_ok=True)
        return self._living()

    def with_python(self) -> Driver:
        self.write_python('"$@"')
        return self._living()

    def write_python(self, arguments: str) -> None:
        self.python.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}\n')
        self.python.chmod(0o755)

    def stop(self) -> None:
        self._running.close()
        self._shell = None

    def _living(self) -> Driver:
        if self._shell is None or self._shell.process.poll() is not None:
            self.stop()
            starting = driver(self._folders.mktemp("shell"), "spark-sql", settings=self._settings)
            self._shell = self._running.enter_context(starting)
        return self._shell


@pytest.fixture(scope="module")
def shells(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shells]:
    made = Shells(settings, tmp_path_factory)
    yield made
    made.stop()


@pytest.fixture
def shell(shells: Shells) -> Driver:
    return shells.with_python()


def test_a_shell_names_an_interpreter_that_is_missing_or_lacks_lakescan_and_goes_on_when_it_is_there(
    shells: Shells,
) -> None:
    shell, python = shells.without_python(), shells.python
    setting = "Set spark.lakescan.python to an interpreter in which pip install 'lakescan[spark]' was done."
    shell.tell("SELECT concat('first ', count(*)) FROM lake.orders;")
    (sentence,) = _sentences(shell.says(setting))
    assert f"and the interpreter {python} cannot be started" in sentence
    shells.write_python('-I -S "$@"')
    shell.tell("SELECT concat('second ', count(*)) FROM lake.orders;")
    (sentence,) = _sentences(shell.says("No module named")) - {sentence}
    assert f"and {python} ended with 1" in sentence
    assert sentence.endswith(setting)
    shells.write_python('"$@"')
    shell.tell("SELECT concat('third ', count(*)) FROM lake.orders;")
    said = shell.says("third 30")
    assert "first 30" not in said
    assert "second 30" not in said


def _sentences(said: str) -> set[str]:
    return {line.partition("[LAKESCAN")[2] for line in said.splitlines() if "[LAKESCAN" in line}


def test_a_shell_reads_by_name_version_path_and_function_and_pushes_filters(shell: Driver, table: DeltaBuilder) -> None:
    asked = {
        "SELECT concat('name ', count(*)) FROM lake.orders": "name 30",
        "SELECT concat('version ', count(*)) FROM lake.orders VERSION AS OF 1": "version 10",
        f"SELECT concat('path ', sum(id)) FROM delta.`{table.path}` WHERE id > 25": f"path {26 + 27 + 28 + 29}",
        f"SELECT concat('history ', count(*)) FROM lake_history('{table.path}')": "history 3",
        "EXPLAIN SELECT id FROM lake.orders WHERE id = 25": "filter=[id IS NOT NULL AND id = 25] files=[1]",
        f"CREATE TABLE kept USING delta LOCATION '{table.path}'": "",
        "SELECT concat('kept ', max(id)) FROM kept VERSION AS OF 1": "kept 9",
        "DESCRIBE DETAIL kept": f"file:{table.path}",
    }
    for statement in asked:
        shell.tell(f"{statement};")
    shell.tell("SELECT concat('all ', 'told');")
    said = shell.says("all told")
    for answer in asked.values():
        assert answer in said


def test_nothing_is_left_of_a_shell_that_ends(shell: Driver) -> None:
    shell.tell("SELECT concat('counted ', count(*)) FROM lake.orders;")
    shell.says("counted 30")
    assert len(shell.beside()) == 1
    shell.tell("exit;")
    assert shell.process.wait(60) == 0
    shell.leaves_nothing()


CLIENT = """
answer["name"] = spark.table("lake.orders").where("id > 5").count()
answer["format"] = spark.read.format("delta").option("versionAsOf", 1).load(sys.argv[2]).count()
# The server has several threads, and each of them remembers what it has called.
for _ in range(20):
    answer["plan"] = spark.sql("SELECT id FROM lake.orders WHERE id = 25")._explain_string()
"""


def test_sparks_own_connect_server_reads_for_clients_and_starts_python_anew_for_later_ones(
    settings: dict[str, str], table: DeltaBuilder, tmp_path: Path
) -> None:
    port = free_port()
    service = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    given = {**settings, "spark.connect.grpc.binding.port": str(port)}
    with driver(tmp_path, "spark-submit", *service, settings=given) as server:
        server.listens(port)
        answer = ask(f"sc://127.0.0.1:{port}", CLIENT, table.path)
        assert (answer["name"], answer["format"]) == (24, 10)
        assert "filter=[id IS NOT NULL AND id = 25] files=[1]" in answer["plan"]
        (beside,) = server.beside()
        os.kill(beside, signal.SIGKILL)
        server.says("Lakescan's Python process beside this driver has ended with 137.")
        assert ask(f"sc://127.0.0.1:{port}", CLIENT, table.path)["name"] == 24
        (another,) = server.beside()
        assert another != beside
        os.kill(server.process.pid, signal.SIGTERM)
        server.leaves_nothing()


def test_the_thrift_server_answers_jdbc_and_leaves_nothing_when_it_is_killed(
    settings: dict[str, str], table: DeltaBuilder, tmp_path: Path
) -> None:
    port = free_port()
    service = ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"]
    # Beside Spark's own JARs, as a distribution's `jars` folder: no class can be added to that loader.
    given = {name: value for name, value in settings.items() if name != "spark.jars"}
    given |= {"spark.driver.extraClassPath": settings["spark.jars"]}
    given |= {"spark.hive.server2.thrift.port": str(port), "spark.hive.server2.thrift.bind.host": "127.0.0.1"}
    with driver(tmp_path, "spark-submit", *service, settings=given) as server:
        server.listens(port)
        words = [str(HOME / "bin" / "beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}/", "--outputformat=csv2"]
        for statement in (
            "SELECT count(*) AS n FROM lake.orders WHERE id > 5",
            f"SELECT max(id) AS n FROM delta.`{table.path}` VERSION AS OF 1",
        ):
            words += ["-e", statement]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=200)
        answers = [line for line in done.stdout.splitlines() if line.isdigit()]
        assert (done.returncode, answers) == (0, ["24", "9"]), (done.stdout, done.stderr[-4000:])
        assert len(server.beside()) == 1
        server.process.kill()
        server.leaves_nothing()


APPLICATION = """
import org.apache.spark.sql.SparkSession;

public class Application {
  public static void main(String[] arguments) throws Exception {
    SparkSession spark = null;
    for (int turn = 1; turn < 3; turn++) {
      spark = SparkSession.builder().getOrCreate();
      long rows = spark.sql("SELECT id FROM lake.orders WHERE id > 5").count();
      System.out.println("turn " + turn + ": " + rows + " rows");
      System.in.read();
      if (turn == 1) {
        spark.stop();
        System.out.println("stopped");
        System.in.read();
      }
    }
  }
}
"""


@ALL
def test_an_application_of_javas_may_stop_spark_and_start_it_again_and_ends_by_itself(
    settings: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "Application.java").write_text(APPLICATION)
    # Spark's compiler runs what it compiles, so that no JAR has to be made.
    arguments = ["--class", "org.codehaus.janino.SimpleCompiler", "spark-internal", "Application.java", "Application"]
    with driver(tmp_path, "spark-submit", *arguments, settings=settings) as application:
        application.says("turn 1: 24 rows")
        (first,) = application.beside()
        application.tell("")
        application.says("stopped")
        assert wait_for(lambda: application.beside() == [], 60)
        application.tell("")
        application.says("turn 2: 24 rows")
        (second,) = application.beside()
        assert second != first
        application.tell("")
        assert application.process.wait(60) == 0, application.log.read_text()[-4000:]
        application.leaves_nothing()
