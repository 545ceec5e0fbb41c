"""Azure's and Google's stores on this machine, each a process that ends with the tests. Nothing leaves the machine."""

import base64
import hashlib
import hmac
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlencode

import pyarrow.fs as pafs
import pytest

from tests.google_store import BUCKET

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = "lake"
ACCOUNT = "devstoreaccount1"
HOST = f"{ACCOUNT}.dfs.core.windows.net"
# Azurite's own, which its documentation names.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


_ENDS_WITH_ITS_PARENT = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class AzureStore:
    """Azurite, at a port."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self._files = pafs.AzureFileSystem(
            ACCOUNT,
            account_key=KEY,
            blob_storage_authority=self.address,
            dfs_storage_authority=self.address,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )
        self._files.create_dir(CONTAINER)

    @property
    def where(self) -> dict[str, str]:
        """The options that say where it is, but not who asks."""
        return {"fs.azure.abfs.endpoint": self.address, "fs.azure.always.use.https": "false"}

    def put(self, folder: Path, name: str) -> str:
        _put(self._files, folder, f"{CONTAINER}/{name}")
        return f"abfs://{CONTAINER}@{HOST}/{name}"

    def signature(self, valid_for: timedelta = timedelta(hours=1)) -> str:
        """A shared access signature of the account for reading and listing."""
        expires = (datetime.now(timezone.utc) + valid_for).strftime("%Y-%m-%dT%H:%M:%SZ")
        values = {
            "sp": "rl",
            "ss": "b",
            "srt": "sco",
            "st": "",
            "se": expires,
            "sip": "",
            "spr": "",
            "sv": "2022-11-02",
        }
        signed = "\n".join((ACCOUNT, *values.values(), "", ""))
        digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
        given = {name: value for name, value in values.items() if value}
        return urlencode({**given, "sig": base64.b64encode(digest).decode()})


class GoogleStore:
    """The server of `tests.google_store`, at a port."""

    def __init__(self, port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self._log = log
        self._files = pafs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}")

    def put(self, folder: Path, name: str) -> str:
        _put(self._files, folder, f"{BUCKET}/{name}")
        self._log.write_text("")
        return f"gs://{BUCKET}/{name}"

    def who_asked(self) -> set[str]:
        """The `Authorization` headers of the requests since a table was put there."""
        return {json.loads(line)["who"] for line in self._log.read_text().splitlines()}


def _put(files: pafs.FileSystem, folder: Path, name: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            with files.open_output_stream(f"{name}/{file.relative_to(folder).as_posix()}") as out:
                out.write(file.read_bytes())


@contextmanager
def azure_store(folder: Path) -> Iterator[AzureStore]:
    found = ROOT / "build" / "azurite" / "node_modules" / ".bin" / "azurite-blob"
    program = str(found) if found.exists() else shutil.which("azurite-blob")
    if program is None:
        pytest.skip("Azurite is not installed: make azurite (it needs npm)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    with _running([program, *options, "--blobPort", str(port)], folder) as process:
        _wait_for(port, process)
        yield AzureStore(port)


@contextmanager
def google_store(folder: Path) -> Iterator[GoogleStore]:
    log = folder / "requests.jsonl"
    with _running([sys.executable, "-m", "tests.google_store", str(log)], ROOT) as process:
        assert process.stdout is not None
        yield GoogleStore(int(process.stdout.readline()), log)


@contextmanager
def _running(command: list[str], folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    nowhere = subprocess.DEVNULL
    # A process of the tests that is killed ends no fixture: the system ends the server with it.
    bound = [sys.executable, "-c", _ENDS_WITH_ITS_PARENT, *command] if sys.platform == "linux" else command
    process = subprocess.Popen(bound, cwd=folder, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"Azurite does not answer at port {port}")
