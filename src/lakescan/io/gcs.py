"""Google's store: what Hadoop's `fs.gs.*` options say, and Arrow's file system made with it.

A service account's key file is read by each process that reads tables, as Hadoop does, and signs a token that Google
takes as it is, so that nobody is asked for one. Tokens are renewed before they expire. Nothing here shows a secret.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from lakescan.errors import InvalidOption, MissingPackage
from lakescan.io.secrets import HIDDEN, masked

PREFIX = "fs.gs."
_TYPE, _KEY_FILE, _NULL = "auth.type", "auth.service.account.json.keyfile", "auth.null.enable"
_ENDPOINT = "storage.root.url"
OPTIONS = {
    PREFIX + short: says
    for short, says in {
        _TYPE: "`SERVICE_ACCOUNT_JSON_KEYFILE`, `UNAUTHENTICATED` (anonymous), or `APPLICATION_DEFAULT` or "
        "`COMPUTE_ENGINE` for those of the process.",
        _KEY_FILE: "The file with a service account's key, on every machine that reads; needs the package google-auth.",
        _NULL: "Whether the store is asked anonymously, as older connectors say it.",
        _ENDPOINT: "Where the store is, if not at Google, as `http://127.0.0.1:9023/`.",
    }.items()
}
_OF_THE_PROCESS = ("APPLICATION_DEFAULT", "COMPUTE_ENGINE")
_READ_ONLY = "https://www.googleapis.com/auth/devstorage.read_only"
# Arrow's own patience is a quarter of an hour.
_RETRY_S = 15


@dataclass(frozen=True, repr=False)
class GcsCredentials:
    """A token and when it expires; without one, the store is asked anonymously. A fixed token is its own provider."""

    access_token: str = ""
    expires: datetime | None = None
    key_file: str = ""
    """The file that it was made with, for clients that make their own."""

    def __call__(self) -> "GcsCredentials":
        return self

    def __repr__(self) -> str:
        return f"GcsCredentials({HIDDEN if self.access_token else 'anonymous'})"


class GcsCredentialsProvider(Protocol):
    """Gives the credentials to use now. Asked before every file is opened; pickled with a plan, compared by value."""

    def __call__(self) -> GcsCredentials | None:
        """None for those of the process that reads."""


@dataclass(frozen=True)
class ServiceAccountKey:
    """Credentials by a service account's key file; the file alone is the secret, and it does not travel."""

    file: str

    def __call__(self) -> GcsCredentials:
        account = _account(self.file, os.stat(self.file).st_mtime_ns)
        if not account.valid:
            account.refresh(None)
        return GcsCredentials(account.token, account.expiry.replace(tzinfo=timezone.utc), self.file)


@dataclass(frozen=True)
class ProcessIdentity:
    """Credentials that Google's client finds itself, whatever else was given."""

    def __call__(self) -> None:
        return None


@dataclass(frozen=True, repr=False)
class GcsConfiguration:
    """What was given explicitly of Google's store; None where nothing was."""

    endpoint: str | None = None
    credentials: GcsCredentialsProvider | None = None
    """Where None, those that Google's client finds in the process that reads."""

    @staticmethod
    def from_options(options: Mapping[str, str]) -> "GcsConfiguration":
        given = {name.removeprefix(PREFIX): value for name, value in options.items()}
        endpoint = given.get(_ENDPOINT)
        address = urlsplit(endpoint or "")
        if endpoint is not None and (address.scheme not in ("http", "https") or not address.netloc):
            raise InvalidOption(PREFIX + _ENDPOINT, f"{masked(endpoint)} is no URL of http or https.")
        return GcsConfiguration(endpoint, _provider(given))

    def over(self, other: "GcsConfiguration") -> "GcsConfiguration":
        """This, and the other where this says nothing."""
        return GcsConfiguration(self.endpoint or other.endpoint, self.credentials or other.credentials)

    def __repr__(self) -> str:
        credentials = self.credentials and type(self.credentials).__name__
        return f"GcsConfiguration(endpoint={self.endpoint and masked(self.endpoint)!r}, credentials={credentials})"


@dataclass(frozen=True, repr=False)
class GcsSettings:
    """What a client is made with. Two that are equal may share one."""

    endpoint: str
    credentials: GcsCredentials | None
    environment: tuple[tuple[str, str], ...]
    """What the client looks up itself."""


def settings_of(configuration: GcsConfiguration) -> GcsSettings:
    return GcsSettings(
        configuration.endpoint or "",
        None if configuration.credentials is None else configuration.credentials(),
        tuple(sorted(item for item in os.environ.items() if item[0].startswith(("GOOGLE_", "CLOUD_STORAGE_")))),
    )


def file_system(settings: GcsSettings) -> pafs.FileSystem:
    address = urlsplit(settings.endpoint)
    where = {"scheme": address.scheme, "endpoint_override": address.netloc} if settings.endpoint else {}
    return pafs.GcsFileSystem(**_who_asks(settings.credentials), **where, retry_time_limit=timedelta(seconds=_RETRY_S))


def _who_asks(credentials: GcsCredentials | None) -> dict[str, Any]:
    if credentials is None:
        return {}
    if not credentials.access_token:
        return {"anonymous": True}
    # Arrow wants to know when a token expires, and does nothing with it.
    expires = credentials.expires or datetime.now(timezone.utc) + timedelta(hours=1)
    return {"access_token": credentials.access_token, "credential_token_expiration": expires}


@lru_cache(maxsize=64)
def _account(file: str, modified_ns: int) -> Any:
    """The account of a key file as it was then; keeps its token."""
    try:
        from google.oauth2 import service_account
    except ImportError as error:
        raise MissingPackage(f"{PREFIX}{_KEY_FILE}", "google-auth") from error
    account = service_account.Credentials.from_service_account_file(file, scopes=[_READ_ONLY])
    return account.with_always_use_jwt_access(True)


def _provider(given: Mapping[str, str]) -> GcsCredentialsProvider | None:
    kind, file, anonymous = given.get(_TYPE, "").strip().upper(), given.get(_KEY_FILE), given.get(_NULL, "false")
    if anonymous.strip().lower() not in ("true", "false"):
        raise InvalidOption(PREFIX + _NULL, f"{anonymous!r} is neither 'true' nor 'false'.")
    if kind == "UNAUTHENTICATED" or (not kind and file is None and anonymous.strip().lower() == "true"):
        return GcsCredentials()
    if kind in _OF_THE_PROCESS:
        return ProcessIdentity()
    if kind == "SERVICE_ACCOUNT_JSON_KEYFILE" or (not kind and file is not None):
        if file is None:
            raise InvalidOption(PREFIX + _TYPE, f"it asks for a key: give {PREFIX}{_KEY_FILE}.")
        return ServiceAccountKey(file)
    if kind:
        known = ", ".join(("SERVICE_ACCOUNT_JSON_KEYFILE", "UNAUTHENTICATED", *_OF_THE_PROCESS))
        raise InvalidOption(PREFIX + _TYPE, f"{given[_TYPE]} is not one of {known}.")
    return None
