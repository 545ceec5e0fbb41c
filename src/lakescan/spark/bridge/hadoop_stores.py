"""Stores that executors open by Hadoop's own file systems, with what the session was told: decided once a scan.

A store is opened so only where the driver has opened it with the very same: where options of a read or the environment
say more than the session, where keys are in a credential store, or where Hadoop has no class for the scheme, files are
left to workers. For a table on this machine the JVM is asked nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from lakescan.errors import InvalidOption
from lakescan.io import azure, gcs
from lakescan.io.configuration import StorageConfiguration, settings_of
from lakescan.io.locations import options_prefix, store_of
from lakescan.io.storage import Storage
from lakescan.spark.bridge.hadoop import CREDENTIAL_STORES, session_storage
from lakescan.spark.bridge.java_classes import driver_class
from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject
from lakescan.spark.bridge.trips import in_words
from lakescan.spark.dsv2.plain_files import ELSEWHERE

_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
FILE_SYSTEMS: dict[str, tuple[str, ...]] = {
    "s3a": (_S3A,),
    "s3": (_S3A,),
    "s3n": (_S3A,),
    "abfs": ("org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",),
    "abfss": ("org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",),
    "gs": (
        "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem",
    ),
    "hdfs": ("org.apache.hadoop.hdfs.DistributedFileSystem",),
}
"""By scheme, those that take the options which Lakescan takes too, and mean the same store by a name."""
# Behind a file system that gives up a worker reads, with patience of its own.
_PATIENCE = {"fs.s3a.attempts.maximum": "3", "fs.s3a.retry.limit": "1"}
# As Arrow names the bucket where an endpoint is given.
_IN_THE_PATH = {"fs.s3a.path.style.access": "true"}
_EMULATORS = ("STORAGE_EMULATOR_HOST", "CLOUD_STORAGE_EMULATOR_ENDPOINT")
_MOST_SENT = 8
_asked: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_sent: WeakKeyDictionary[Any, dict[str, JavaObject]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SessionStore:
    """What executors are told to open a store by."""

    configuration: JavaObject
    id: str

    def sent(self, bridge: Bridge) -> JavaObject:
        """The configuration, as Spark sends what all tasks need: once to an executor."""
        context: Any = bridge.spark.sparkContext
        sent = _sent.setdefault(context, {})
        if self.id not in sent:
            if len(sent) >= _MOST_SENT:
                del sent[next(iter(sent))]
            sent[self.id] = context._jsc.broadcast(self.configuration)
        return sent[self.id]


def session_store(bridge: Bridge, storage: Storage) -> SessionStore | str:
    """What opens the store of a table on executors; why they cannot, where that is so."""
    scheme, separator, authority = store_of(storage.location).partition("://")
    if not separator:
        return ELSEWHERE
    scheme = scheme.lower()
    told = bridge.spark._jsparkSession.sessionState().newHadoopConf()
    java = _hadoop_stores(bridge)
    known, found = FILE_SYSTEMS.get(scheme, ()), str(java.fileSystemOf(told, scheme))
    if not found or not authority:
        return f"{ELSEWHERE}: the session has no Hadoop file system for {scheme}"
    if found not in known:
        return f"{ELSEWHERE}: the session's Hadoop file system for {scheme} is {found}"
    why = _why_not(bridge, told, storage, authority)
    if why:
        return f"{ELSEWHERE}: {why}"
    configuration = java.sent(told, scheme, in_words(_presets(storage, authority)))
    return SessionStore(configuration, str(java.idOf(configuration)))


def _why_not(bridge: Bridge, told: JavaObject, storage: Storage, authority: str) -> str:
    """Why Hadoop would not open the store as the driver did; nothing where it would."""
    prefix = options_prefix(storage.location)
    if prefix is None:
        return ""
    given = storage.configuration
    try:
        is_of_session = given == session_storage(bridge, prefix)
    except InvalidOption:
        is_of_session = False
    if not is_of_session:
        return "options of the read open the store"
    if _is_of_environment(given, prefix, authority):
        return "the environment opens the store, not the session"
    elsewhere = f"fs.s3a.bucket.{authority}."
    stores = (f"hadoop.{CREDENTIAL_STORES}", f"fs.s3a.{CREDENTIAL_STORES}", elsewhere + CREDENTIAL_STORES)
    if any(told.get(name) for name in stores):
        return "a credential store has its keys"
    # The bucket's name then stands for another.
    return "an access point" if told.get(f"{elsewhere}accesspoint.arn") else ""


def _is_of_environment(given: StorageConfiguration, prefix: str, authority: str) -> bool:
    """Whether where the store is, or who asks, is left to the environment, which each process has of its own."""
    if prefix == azure.PREFIX:
        return given.azure.of_account(authority.rpartition("@")[2]).credentials is None
    if prefix == gcs.PREFIX:
        said = given.gcs.endpoint is not None or not any(name in os.environ for name in _EMULATORS)
        return given.gcs.credentials is None or not said
    own = given.of_bucket(authority)
    return own.credentials is None or (own.endpoint is None and bool(settings_of(given, authority).endpoint))


def _presets(storage: Storage, authority: str) -> list[str]:
    """What is said where the session leaves it to Hadoop's presets, names and values in turn."""
    if options_prefix(storage.location) != "fs.s3a.":
        return []
    named = _IN_THE_PATH if storage.configuration.of_bucket(authority).endpoint else {}
    presets: Mapping[str, str] = {**_PATIENCE, **named}
    return [word for pair in presets.items() for word in pair]


def _hadoop_stores(bridge: Bridge) -> Any:
    """The one `HadoopStores` of a JVM."""
    if bridge.gateway not in _asked:
        made = driver_class(bridge, "StoreFiles", "HadoopStores")
        _asked[bridge.gateway] = made.getConstructors()[0].newInstance(bridge.array("java.lang.Object", []))
    return _asked[bridge.gateway]
