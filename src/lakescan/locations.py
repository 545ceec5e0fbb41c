"""Locations: which store a path is in and where it is there, and the store's file system.

A location is a path of this machine or a URI. A URI is decoded once, and a character that should have been escaped is
taken as it is: so both Hadoop's spelling of a path and the log's are read. Whatever opens a store (credentials,
endpoint, region) comes from the environment of the process and never stands in a location, because locations are
shown in plans, messages and logs. An environment that has changed opens the store anew.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from lakescan.errors import StorageFailure, UnsupportedLocation
from lakescan.secrets import HIDDEN

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
_STORE = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?")
# Hadoop's names for what others know by another one.
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}
_S3 = "s3://"
# How long a server of S3's may be silent, and how often a request is made that it does not answer.
SILENCE_S = 5
_ATTEMPTS = 5
SCHEME = _SCHEME.pattern


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
    found = _STORE.match(location) if has_scheme(location) else None
    return "" if found is None or found[1].lower() == "file" else found[0]


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
    if _has_password(authority) or (store.startswith(_S3) and "@" in authority):
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


def file_system(store: str, location: str) -> tuple[pafs.FileSystem, str]:
    """A store's file system, and what stands before a path in it; `location` is what was asked for."""
    try:
        return _opened(store, aws_environment() if store.startswith(_S3) else ())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        # Arrow asks S3 for a bucket's region where no endpoint is given.
        is_of_store = store.startswith(_S3) and isinstance(error, OSError)
        raise (StorageFailure if is_of_store else UnsupportedLocation)(location, str(error)) from error


def aws_environment() -> tuple[tuple[str, str], ...]:
    """What the environment says of S3."""
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))


@lru_cache(maxsize=64)
def _opened(store: str, environment: tuple[tuple[str, str], ...]) -> tuple[pafs.FileSystem, str]:
    if not store:
        return pafs.LocalFileSystem(), ""
    if store.startswith(_S3):
        return _s3(store, s3_endpoint(dict(environment))), store[len(_S3) :]
    filesystem, root = pafs.FileSystem.from_uri(f"{store}/")
    return filesystem, root.rstrip("/")


def _s3(store: str, endpoint: str) -> pafs.FileSystem:
    """S3 as a URI opens it, but for its patience: Arrow's own is to try each request for minutes."""
    # Where no endpoint is given, a URI's bucket is asked for its region.
    region = None if endpoint else pafs.FileSystem.from_uri(f"{store}/")[0].region
    return pafs.S3FileSystem(
        region=region,
        endpoint_override=endpoint or None,
        connect_timeout=SILENCE_S,
        request_timeout=SILENCE_S,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def s3_endpoint(environment: Mapping[str, str]) -> str:
    """Where S3 is, if not at Amazon."""
    return environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
