"""Hudi tables in an object store, which Arrow and hudi-rs both read: both are told of it by the same environment."""

from collections.abc import Callable
from pathlib import Path

import pytest

import lakescan
from lakescan import errors
from lakescan.hudi.engine import store_options
from tests.object_store import BUCKET, ObjectStore

from .builder import HudiBuilder
from .tables import COW_PARTITIONED, MOR_PARTITIONED, MOR_TXNS, TRIPS_INDEXED, TRIPS_UPDATED, rows_of

Unpack = Callable[[str], Path]


@pytest.mark.parametrize("name", [COW_PARTITIONED, MOR_PARTITIONED, MOR_TXNS, TRIPS_INDEXED, "log_only_v9", "logs_v6"])
def test_every_instant_and_the_changes_are_those_of_local_disk(name: str, unpack: Unpack, store: ObjectStore) -> None:
    table, expected = lakescan.open(store.put(unpack(name), name)), lakescan.open(unpack(name))
    for instant in expected.snapshot().timeline.instants:
        found, wanted = (source.snapshot(version=instant).scan().build().to_arrow() for source in (table, expected))
        assert rows_of(found) == rows_of(wanted), instant
        found, wanted = (source.changes(instant).scan().build().to_arrow() for source in (table, expected))
        assert rows_of(found) == rows_of(wanted), instant
    assert table.history() == expected.history()
