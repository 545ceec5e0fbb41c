"""Fixtures that every test may use: the sample tables, an object store, and one Spark session for the whole run."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

import lakescan
from tests.sample_tables import sample_table

if TYPE_CHECKING:
    from tests.emulators import AzureStore, GoogleStore
    from tests.object_store import ObjectStore

# These machines are noisy: how long one example took says nothing.
settings.register_profile("lakescan", deadline=None)
settings.load_profile("lakescan")

# No JVM of these tests lives long enough to earn back what the optimizing compiler and a parallel collector cost.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# An optimization that fails is an error in the processes that tests start, as it is in pytest's own (`pyproject.toml`).
os.environ.setdefault("PYTHONWARNINGS", "error:Lakescan gave up an optimization")

# A shell has what it runs in the background ignore Ctrl-C, and so would the processes that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a sample table by its name: to read, not to change."""
    root = tmp_path_factory.mktemp("samples")
    return cache(lambda name: sample_table(name).unpack(root))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with Lakescan installed, small enough for two cores."""
    session = lakescan.session(
        master="local[2]", spark_sql_shuffle_partitions=2, spark_driver_memory="1g", spark_sql_session_timeZone="UTC"
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def object_store() -> "Iterator[ObjectStore]":
    """An S3 server on this machine."""
    from tests.object_store import ObjectStore

    server = ObjectStore()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def azure_store(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[AzureStore]":
    """Azurite on this machine; a test that asks for it is skipped where it is not installed."""
    from tests import emulators

    with emulators.azure_store(tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def google_store(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[GoogleStore]":
    """A server of Google's store on this machine."""
    from tests import emulators

    with emulators.google_store(tmp_path_factory.mktemp("google")) as server:
        yield server


@pytest.fixture
def store(object_store: "ObjectStore", monkeypatch: pytest.MonkeyPatch) -> "Iterator[ObjectStore]":
    """The server, which this process is told of in the way of users: by environment variables."""
    for name, value in object_store.environment.items():
        monkeypatch.setenv(name, value)
    object_store.requests.clear()
    yield object_store
    object_store.refused.clear()
    object_store.missing.clear()
    object_store.besides = ""
