"""What holds for every subcommand: exit codes, one sentence on stderr, no traceback, Ctrl-C."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from shlex import quote

import click
import pytest

import lakescan
from lakescan import errors
from lakescan.cli.exit_codes import DAMAGED, INTERRUPTED, MEANINGS, NO_TABLE, NOT_SUPPORTED, STORAGE, USAGE, exit_code
from lakescan.cli.main import Subcommands
from lakescan.cli.main import command as lakescan_command
from tests.cli.conftest import ORDERS, Command, started

# Every subcommand that reads a table, with words that come after the path.
READING: dict[str, tuple[object, ...]] = {
    "inspect": (),
    "history": (),
    "files": (),
    "diff": (0, 1),
    "changes": (0,),
}
NO_STORE = ("--storage", "fs.s3a.endpoint=http://127.0.0.1:9", "--storage", "fs.s3a.access.key=a")
NO_STORE_MORE = ("--storage", "fs.s3a.secret.key=b", "--storage", "fs.s3a.endpoint.region=us-east-1")


def subcommands() -> list[str]:
    assert isinstance(lakescan_command, Subcommands)
    return lakescan_command.list_commands(click.Context(lakescan_command))


def one_sentence(text: str) -> bool:
    return text.startswith("lakescan: ") and text.count("\n") == 1 and "Traceback" not in text


def test_a_subcommand_is_a_module_and_says_in_a_line_what_it_does(command: Command) -> None:
    answer = command("--help")
    assert answer.code == 0
    for name in subcommands():
        assert f"\n  {name} " in answer.out
        assert command(name, "--help").out.startswith(f"Usage: lakescan {name}")


def test_every_subcommand_that_answers_has_json(command: Command) -> None:
    # A script, a server's address and a JAR's path are no answers about a table.
    for name in set(subcommands()) - {"completion", "connect", "jar"}:
        assert "--json" in command(name, "--help").out, name


def test_no_command_waits_for_pandas() -> None:
    program = (
        "import sys\n"
        "from lakescan.cli.main import run\n"
        f"sys.argv = ['lakescan', 'query', 'SELECT count(*) FROM delta.`{ORDERS}`']\n"
        "try:\n    run()\nfinally:\n    print('pandas' in sys.modules, 'pyspark' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "4856" in ran.stdout.replace(",", "")
    assert ran.stdout.endswith("False False\n")


@pytest.mark.parametrize("name", READING)
def test_a_path_without_a_table_is_one_sentence(name: str, command: Command, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        answer = command(name, path, *READING[name])
        assert (answer.code, answer.out) == (NO_TABLE, "")
        assert one_sentence(answer.err)
        assert str(path) in answer.err


@pytest.mark.parametrize("name", READING)
def test_a_newer_protocol_is_refused_by_the_name_of_its_feature(name: str, command: Command, newer: Path) -> None:
    answer = command(name, newer, *READING[name])
    assert (answer.code, answer.out) == (NOT_SUPPORTED, "")
    assert one_sentence(answer.err)
    assert "timeCrystals" in answer.err


@pytest.mark.parametrize("name", READING)
def test_a_store_that_cannot_be_reached_is_one_sentence_without_its_secret(name: str, command: Command) -> None:
    answer = command(name, "s3a://bucket/table", *READING[name], *NO_STORE, *NO_STORE_MORE)
    assert (answer.code, answer.out) == (STORAGE, "")
    assert one_sentence(answer.err)
    assert "s3a://bucket/table" in answer.err


def test_a_damaged_log_has_a_code_of_its_own(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020d}.json").write_text("no json\n")
    answer = command("inspect", tmp_path)
    assert answer.code == DAMAGED
    assert one_sentence(answer.err)


@pytest.mark.parametrize("words", [("inspect",), ("inspect", "--colour"), ("inspct",), ("history", "x", "--limit=-1")])
def test_a_wrong_command_line_is_one_sentence_that_names_the_help(words: tuple[str, ...], command: Command) -> None:
    answer = command(*words)
    assert (answer.code, answer.out) == (USAGE, "")
    assert one_sentence(answer.err)
    assert "--help" in answer.err


def test_a_version_that_there_is_not_is_a_wrong_value(command: Command) -> None:
    answer = command("inspect", ORDERS, "--version", "99")
    assert answer.code == USAGE
    assert one_sentence(answer.err)
    assert "versions 0 to 7" in answer.err


def test_a_fault_of_lakescan_is_one_sentence_too(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("\x1b[31mred")

    monkeypatch.setattr(lakescan, "open", fail)
    answer = command("inspect", ORDERS)
    assert answer.code == 1
    assert one_sentence(answer.err)
    assert "\x1b" not in answer.err
    assert "ZeroDivisionError" in answer.err


def test_a_warning_is_a_line_on_stderr(command: Command, copied: object, tmp_path: Path) -> None:
    from tests.sample_tables import sample_table

    table = sample_table("row_tracking").unpack(tmp_path)
    (table / "_delta_log" / f"{0:020d}.crc").write_text("{")
    answer = command("inspect", table, "--version", "0")
    assert answer.code == 0
    assert answer.err.startswith("lakescan: warning: The checksum file")
    assert answer.err.count("\n") == 1


def test_every_error_has_a_code_that_the_documentation_lists() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LakescanError)
    ]
    assert {exit_code(kind.__new__(kind)) for kind in kinds} <= MEANINGS.keys()
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {code} | {meaning} |" in page


def test_importing_lakescan_imports_nothing_of_the_command_line() -> None:
    code = "import sys, lakescan; print([name for name in ('rich', 'click', 'pyspark') if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [*READING, "query"])
def test_ctrl_c_ends_a_command_that_waits_for_a_store(name: str) -> None:
    place = "s3a://bucket/table"
    words = (name, place, *READING[name]) if name in READING else (name, "SELECT * FROM t", "--table", f"t={place}")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"fs.s3a.endpoint=http://127.0.0.1:{silent.getsockname()[1]}"
        process = started(*words, "--storage", endpoint, *NO_STORE[2:], *NO_STORE_MORE)
        silent.settimeout(60)
        connection, _ = silent.accept()
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        connection.close()
    assert (process.returncode, out, err) == (INTERRUPTED, "", "lakescan: interrupted\n")
    assert time.monotonic() - began < 10


def test_whoever_closes_the_pipe_is_not_told_of_it() -> None:
    words = f"{quote(sys.executable)} -m lakescan inspect {quote(str(ORDERS))} --json | true"
    process = subprocess.run(["bash", "-c", f"set -o pipefail; {words}"], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


def test_the_shell_completes_subcommands_and_options(command: Command) -> None:
    assert "_LAKESCAN_COMPLETE=bash_complete" in command("completion", "bash").out
    for words, place, expected in [
        ("lakescan in", "1", "plain,inspect"),
        ("lakescan history --li", "2", "plain,--limit"),
    ]:
        environment = {"_LAKESCAN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
        out, _ = started(env={**environment, "PATH": "/usr/bin:/bin"}).communicate(timeout=60)
        assert expected in out.splitlines()
