"""Locations: which store a path is in and where it is there, and the store's file system.

A location is a path of this machine or a URI. A URI is decoded once, and a character that should have been escaped is
taken as it is: so both Hadoop's spelling of a path and the log's are read. Whatever opens a store (credentials,
endpoint, region) is in a `StorageConfiguration` and never in a location, because locations are shown in plans, messages
and logs. A configuration or an environment that has changed opens the store anew.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from lakescan.errors import LakescanError, StorageFailure, UnsupportedLocation
from lakescan.io import azure, gcs
from lakescan.io.azure import AzureSettings
from lakescan.io.configuration import Credentials, S3Settings, StorageConfiguration, settings_of
from lakescan.io.gcs import GcsSettings
from lakescan.io.secrets import HIDDEN

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
_STORE = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?")
# Hadoop's names for what others know by another one.
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}
_S3, _AZURE, _GCS, _HDFS = "s3://", ("abfs://", "abfss://"), "gs://", ("hdfs://", "viewfs://")
Settings = S3Settings | AzureSettings | GcsSettings
SCHEME = _SCHEME.pattern
_WITHOUT_LIBHDFS = (
    "Arrow reads HDFS by Hadoop's own libhdfs, on every machine that reads: install Hadoop's native client, and set "
    "JAVA_HOME, HADOOP_HOME (or ARROW_LIBHDFS_DIR) and CLASSPATH (hadoop classpath --glob) before Python starts"
)


@dataclass(frozen=True)
class Location:
    """A store, as `pyarrow.fs` names it, and a path from its root on; the store of this machine is empty."""

    store: str
    path: str

    def below(self, path: str) -> "Location":
        """A path that the table at this location knows: below it, or from its store's root on."""
        return Location(self.store, path if path.startswith("/") else f"{self.path.rstrip('/')}/{path}")


def has_scheme(path: str) -> bool:
    """Whether a path names its store itself, as in s3://bucket/key."""
    return _SCHEME.match(path) is not None


def store_of(location: str) -> str:
    """The part of a location that names its store, as it is spelled there; empty on this machine."""
    match = _STORE.match(location) if has_scheme(location) else None
    return "" if match is None or match[1].lower() == "file" else match[0]


def plain(location: str) -> str:
    """A location on this machine without its scheme and its escapes; another as it is."""
    address = locate(location)
    return location if address.store else address.path


def options_prefix(location: str) -> str | None:
    """How the names of the options begin that open the location's store; None where there are none."""
    store = locate(location).store if has_scheme(location) else ""
    if store.startswith(_S3):
        return "fs.s3a."
    if store.startswith(_AZURE):
        return azure.PREFIX
    return gcs.PREFIX if store.startswith(_GCS) else None


@lru_cache(maxsize=1024)
def locate(location: str) -> Location:
    if not has_scheme(location):
        return Location("", location)
    spelled = store_of(location)
    if not spelled:
        # Hadoop writes file:/a, the standard file:///a.
        return Location("", "/" + unquote(location[len("file:") :]).lstrip("/"))
    scheme, _, authority = spelled.partition("://")
    scheme = scheme.rstrip(":").lower()
    store, path = f"{_SAME_STORE.get(scheme, scheme)}://{authority}", location[len(spelled) :]
    if _has_password(authority) or (store.startswith((_S3, _GCS)) and "@" in authority):
        _refuse(f"{scheme}://{HIDDEN}", "keys must not stand in a path, where others see them")
    if "?" in path:
        _refuse(spelled + path.partition("?")[0], "options behind a question mark are not read; one in a name is %3F")
    return Location(store, unquote(path))


def _has_password(authority: str) -> bool:
    """Whether a name and a password stand before the host; what a colon is followed by may also be a port."""
    user, at, host = authority.rpartition("@")
    port = host.rpartition(":")[2]
    return ":" in user or (not at and ":" in host and not port.isdigit())


def _refuse(location: str, why: str) -> None:
    raise UnsupportedLocation(
        location, f"{why}. Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL, or what your store has"
    )


def file_system(store: str, location: str, configuration: StorageConfiguration) -> tuple[pafs.FileSystem, str]:
    """A store's file system, and what stands before a path in it; `location` is what was asked for."""
    settings = store_settings(store, location, configuration)
    try:
        return _opened(store, settings)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        if store.startswith(_HDFS):
            raise _without_hdfs(location, str(error)) from None
        # Arrow asks S3 for a bucket's region where no endpoint is given.
        is_of_store = settings is not None and isinstance(error, OSError)
        raise (StorageFailure if is_of_store else UnsupportedLocation)(location, str(error)) from error


def _without_hdfs(location: str, text: str) -> LakescanError:
    """Why HDFS was not reached; Arrow's text goes on with every place at which it looked for a library."""
    first = text.partition("\n")[0]
    if "libhdfs" in first or "libjvm" in first:
        return UnsupportedLocation(location, f"{first}. {_WITHOUT_LIBHDFS}")
    return StorageFailure(location, first)


def store_settings(store: str, location: str, configuration: StorageConfiguration) -> Settings | None:
    """What opens the store now; None where there are no options for it, and the environment alone says it."""
    try:
        if store.startswith(_S3):
            return settings_of(configuration, store[len(_S3) :])
        if store.startswith(_AZURE):
            return azure.settings_of(configuration.azure, store, location)
        return gcs.settings_of(configuration.gcs) if store.startswith(_GCS) else None
    except LakescanError:
        raise
    except Exception as error:
        # A provider is anybody's code. What its error says is shown as its cause, and nowhere else.
        raise StorageFailure(location, f"its credentials provider failed ({type(error).__name__})") from error


@lru_cache(maxsize=64)
def _opened(store: str, settings: Settings | None) -> tuple[pafs.FileSystem, str]:
    if not store:
        return pafs.LocalFileSystem(), ""
    match settings:
        case S3Settings():
            return _s3(store, settings), store[len(_S3) :]
        case AzureSettings():
            return azure.file_system(settings, store), azure.container(store)
        case GcsSettings():
            return gcs.file_system(settings), store[len(_GCS) :]
    filesystem, root = pafs.FileSystem.from_uri(f"{store}/")
    return filesystem, root.rstrip("/")


def _s3(store: str, settings: S3Settings) -> pafs.FileSystem:
    """S3 as a URI opens it, but for its patience: Arrow's own is to try each request for minutes."""
    region = settings.region or None
    if region is None and not settings.endpoint:
        # A URI's bucket is asked for its region.
        region = pafs.FileSystem.from_uri(f"{store}/")[0].region
    return pafs.S3FileSystem(
        **_who_asks(settings.credentials),
        region=region,
        endpoint_override=settings.endpoint or None,
        connect_timeout=settings.connect_timeout_s,
        request_timeout=settings.request_timeout_s,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=settings.attempts),
    )


def _who_asks(credentials: Credentials | None) -> dict[str, Any]:
    if credentials is None:
        return {}
    if credentials.is_anonymous:
        return {"anonymous": True}
    token = credentials.session_token or None
    return {"access_key": credentials.access_key, "secret_key": credentials.secret_key, "session_token": token}
