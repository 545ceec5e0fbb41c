"""Azure's store: what Hadoop's `fs.azure.*` options say of an account, and Arrow's file system made with it.

An option counts for one account where the account's host ends its name, as in
`fs.azure.account.key.<account>.dfs.core.windows.net`, and comes first there. What Arrow cannot do as Hadoop would is
refused by name. Nothing here shows a secret.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from lakescan.errors import InvalidOption, UnsupportedLocation
from lakescan.io.secrets import HIDDEN

PREFIX = "fs.azure."
_KEY, _SAS = "account.key", "sas.fixed.token"
_TYPE, _OAUTH, _SAS_PROVIDER = "account.auth.type", "account.oauth.provider.type", "sas.token.provider.type"
_ID, _SECRET, _AUTHORITY = (f"account.oauth2.client.{end}" for end in ("id", "secret", "endpoint"))
_ENDPOINT, _HTTPS = "abfs.endpoint", "always.use.https"
OPTIONS = {
    PREFIX + short: says
    for short, says in {
        _KEY: "The account's key.",
        _SAS: "A shared access signature, which may expire.",
        _TYPE: "`SharedKey`, `SAS` or `OAuth`; without it, that of which there is something.",
        _OAUTH: "With `OAuth`: `ClientCredsTokenProvider`, `MsiTokenProvider` or `WorkloadIdentityTokenProvider`.",
        _ID: "The application of `ClientCredsTokenProvider`, or the identity of `MsiTokenProvider`.",
        _SECRET: "The application's secret.",
        _AUTHORITY: "Where its tokens are given, `https://login.microsoftonline.com/<tenant>/oauth2/token`.",
        _SAS_PROVIDER: "Refused: a class that gives signatures runs in Hadoop alone.",
        _ENDPOINT: "Another host than the account's, as `127.0.0.1:10000`; the account then stands in the path.",
        _HTTPS: "Whether `abfs://` is asked by https too: `true` unless you say `false`; `abfss://` always is.",
    }.items()
}
SECRETS = frozenset(PREFIX + short for short in (_KEY, _SAS, _ID, _SECRET, _AUTHORITY))
"""What a credential store of Hadoop's may hold."""
_DEFAULT_DOMAIN = "dfs.core.windows.net"
_DEFAULT_AUTHORITY = "login.microsoftonline.com"
# By the name of the class; those of the process are found by Azure's own client.
_OF_THE_PROCESS = ("MsiTokenProvider", "WorkloadIdentityTokenProvider")
_BY_SECRET = "ClientCredsTokenProvider"


@dataclass(frozen=True, repr=False)
class AzureCredentials:
    """Who asks: by the account's key, by a signature, or as an application; else as whoever the process is."""

    account_key: str = ""
    sas_token: str = ""
    tenant_id: str = ""
    client_id: str = ""
    client_secret: str = ""

    def __call__(self) -> "AzureCredentials":
        return self

    def __repr__(self) -> str:
        return f"AzureCredentials({HIDDEN})"


class AzureCredentialsProvider(Protocol):
    """Gives the credentials to use now. Asked before every file is opened; pickled with a plan, compared by value."""

    def __call__(self) -> AzureCredentials: ...


@dataclass(frozen=True, repr=False)
class AzureConfiguration:
    """What was given explicitly of Azure; None where nothing was."""

    endpoint: str | None = None
    credentials: AzureCredentialsProvider | None = None
    """Where None, those that Azure's client finds in the process that reads."""
    always_https: bool | None = None
    accounts: tuple[tuple[str, "AzureConfiguration"], ...] = ()
    """What was given for an account alone, by its host, which comes first there."""

    @staticmethod
    def from_options(options: Mapping[str, str]) -> "AzureConfiguration":
        """Options by the end of their names and by account; `place` has been asked for each."""
        by_account: dict[str, dict[str, str]] = {"": {}}
        for name, value in options.items():
            account, short = _place(name) or ("", "")
            by_account.setdefault(account, {})[short] = value
        shared = by_account.pop("")
        own = {account: _parsed(given, {**shared, **given}, account) for account, given in by_account.items()}
        return replace(_parsed(shared, shared, ""), accounts=tuple(sorted(own.items(), key=lambda item: item[0])))

    def of_account(self, host: str) -> "AzureConfiguration":
        own = dict(self.accounts).get(_same_host(host), AzureConfiguration())
        return AzureConfiguration(
            own.endpoint or self.endpoint,
            own.credentials or self.credentials,
            self.always_https if own.always_https is None else own.always_https,
        )

    def over(self, other: "AzureConfiguration") -> "AzureConfiguration":
        """This, and the other where this says nothing."""
        return AzureConfiguration(
            self.endpoint or other.endpoint,
            self.credentials or other.credentials,
            other.always_https if self.always_https is None else self.always_https,
            tuple(sorted({**dict(other.accounts), **dict(self.accounts)}.items(), key=lambda item: item[0])),
        )

    def __repr__(self) -> str:
        accounts = [host for host, _ in self.accounts]
        credentials = self.credentials and type(self.credentials).__name__
        return f"AzureConfiguration(endpoint={self.endpoint!r}, credentials={credentials}, accounts={accounts})"


@dataclass(frozen=True, repr=False)
class AzureSettings:
    """What a client of an account is made with. Two that are equal may share one."""

    account: str
    blob_authority: str
    dfs_authority: str
    is_plain: bool
    credentials: AzureCredentials | None
    environment: tuple[tuple[str, str], ...]
    """What the client looks up itself."""

    @property
    def endpoint(self) -> str:
        """Where the account is, for a client that takes it whole."""
        scheme, host = "http" if self.is_plain else "https", self.blob_authority
        return f"{scheme}://{self.account}{host}" if host.startswith(".") else f"{scheme}://{host}/{self.account}"


def settings_of(configuration: AzureConfiguration, store: str, location: str) -> AzureSettings:
    """What opens `abfss://container@account.dfs.core.windows.net` now."""
    scheme, _, authority = store.partition("://")
    host = authority.rpartition("@")[2]
    given = configuration.of_account(host)
    account, _, domain = host.partition(".")
    domain = domain or _DEFAULT_DOMAIN
    if not given.endpoint and not {"dfs", "blob"} & set(domain.split(".")):
        raise UnsupportedLocation(
            location,
            f"{host} is no host of an account, as <account>.{_DEFAULT_DOMAIN}; where yours is elsewhere, name its host "
            f"and port in {PREFIX}{_ENDPOINT}",
        )
    blob, dfs = (f".{domain}".replace(one, two) for one, two in ((".dfs.", ".blob."), (".blob.", ".dfs.")))
    return AzureSettings(
        account,
        given.endpoint or blob,
        given.endpoint or dfs,
        scheme == "abfs" and given.always_https is False,
        None if given.credentials is None else given.credentials(),
        tuple(sorted(item for item in os.environ.items() if item[0].startswith("AZURE_"))),
    )


def container(store: str) -> str:
    return store.partition("://")[2].rpartition("@")[0]


def file_system(settings: AzureSettings, location: str) -> pafs.FileSystem:
    scheme = "http" if settings.is_plain else "https"
    credentials = settings.credentials or AzureCredentials()
    given: dict[str, Any] = {name: value for name, value in vars(credentials).items() if value}
    if credentials.sas_token:
        # Arrow puts it behind the store's address as it is.
        given["sas_token"] = f"?{credentials.sas_token}"
    try:
        return pafs.AzureFileSystem(
            settings.account,
            blob_storage_authority=settings.blob_authority,
            dfs_storage_authority=settings.dfs_authority,
            blob_storage_scheme=scheme,
            dfs_storage_scheme=scheme,
            **given,
        )
    except (ImportError, TypeError) as error:
        # Signatures and applications came with later releases than the file system itself.
        why = f"pyarrow {pa.__version__} cannot open Azure with what is given: pip install --upgrade pyarrow"
        raise UnsupportedLocation(location, why) from error


def place_of(name: str) -> str | None:
    """An option's name without the account that ends it; None for one that is not known."""
    place = _place(name)
    return None if place is None else PREFIX + place[1]


def _place(name: str) -> tuple[str, str] | None:
    """The host of the account that an option is for, empty for all, and the option."""
    for known in sorted(OPTIONS, key=len, reverse=True):
        if name == known:
            return "", known.removeprefix(PREFIX)
        if name.startswith(f"{known}."):
            return _same_host(name.removeprefix(f"{known}.")), known.removeprefix(PREFIX)
    return None


def _same_host(host: str) -> str:
    """Hadoop's two drivers name an account by the host of one service or of the other."""
    return host.lower().replace(".blob.", ".dfs.") if "." in host else f"{host.lower()}.{_DEFAULT_DOMAIN}"


def _parsed(given: Mapping[str, str], completed: Mapping[str, str], account: str) -> AzureConfiguration:
    """`completed` has the options of all accounts too; `account` is for messages."""
    end = f".{account}" if account else ""
    https = given.get(_HTTPS)
    if https is not None and https.strip().lower() not in ("true", "false"):
        raise InvalidOption(f"{PREFIX}{_HTTPS}{end}", f"{https!r} is neither 'true' nor 'false'.")
    endpoint = given.get(_ENDPOINT)
    if endpoint is not None and ("/" in endpoint or "@" in endpoint):
        raise InvalidOption(f"{PREFIX}{_ENDPOINT}{end}", "it is a host and a port, as 127.0.0.1:10000.")
    return AzureConfiguration(
        endpoint,
        _credentials(completed, end) if {_KEY, _SAS, _TYPE, _OAUTH, _ID, _SECRET, _SAS_PROVIDER} & set(given) else None,
        None if https is None else https.strip().lower() == "true",
    )


def _credentials(given: Mapping[str, str], end: str) -> AzureCredentials:
    kind = given.get(_TYPE, "").strip().lower()
    if not kind:
        kind = "sharedkey" if _KEY in given else "sas" if {_SAS, _SAS_PROVIDER} & set(given) else "oauth"
    if kind == "sharedkey":
        return AzureCredentials(account_key=_needed(given, _KEY, end))
    if kind == "sas":
        if _SAS not in given and _SAS_PROVIDER in given:
            why = f"{given[_SAS_PROVIDER]} runs in Hadoop alone; give {PREFIX}{_SAS}{end}."
            raise InvalidOption(f"{PREFIX}{_SAS_PROVIDER}{end}", why)
        return AzureCredentials(sas_token=_needed(given, _SAS, end).removeprefix("?"))
    if kind != "oauth":
        raise InvalidOption(f"{PREFIX}{_TYPE}{end}", f"{given[_TYPE]!r} is not SharedKey, SAS or OAuth.")
    return _application(given, end)


def _application(given: Mapping[str, str], end: str) -> AzureCredentials:
    provider = given.get(_OAUTH, _BY_SECRET).strip().rpartition(".")[2]
    if provider in _OF_THE_PROCESS:
        return AzureCredentials(client_id=given.get(_ID, "") if provider == _OF_THE_PROCESS[0] else "")
    if provider != _BY_SECRET:
        known = ", ".join((_BY_SECRET, *_OF_THE_PROCESS))
        raise InvalidOption(f"{PREFIX}{_OAUTH}{end}", f"{given[_OAUTH]} is not one of {known}.")
    client, secret, authority = (_needed(given, name, end) for name in (_ID, _SECRET, _AUTHORITY))
    parts = urlsplit(authority)
    tenant = parts.path.strip("/").partition("/")[0]
    host = urlsplit(os.environ.get("AZURE_AUTHORITY_HOST", "")).hostname or _DEFAULT_AUTHORITY
    if not tenant or parts.hostname != host:
        why = (
            f"tokens are asked for at https://{host}/<tenant>/oauth2/token. Another host is named by the variable "
            "AZURE_AUTHORITY_HOST, in every process that reads."
        )
        raise InvalidOption(f"{PREFIX}{_AUTHORITY}{end}", why)
    return AzureCredentials(tenant_id=tenant, client_id=client, client_secret=secret)


def _needed(given: Mapping[str, str], name: str, end: str) -> str:
    if name not in given:
        raise InvalidOption(f"{PREFIX}{name}{end}", "it is missing, and the way of asking that was chosen needs it.")
    return given[name]
