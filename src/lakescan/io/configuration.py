"""What opens a store: where it is, who asks, how often and how long.

A `StorageConfiguration` holds what was given explicitly, and nothing else. It is a value (comparable, hashable,
picklable), so it travels with a plan to every reader of its files. What it leaves open, the environment of the process
that reads decides, there and then: so no secret of the driver's environment is ever sent to a worker. Both come
together in `settings_of` and nowhere else. Nothing here shows a secret. S3's options are here, those of the other
stores in modules of their own.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Protocol, TypeVar

from lakescan.errors import InvalidOption
from lakescan.io import azure, gcs
from lakescan.io.azure import AzureConfiguration
from lakescan.io.gcs import GcsConfiguration
from lakescan.io.secrets import HIDDEN, masked

# How long a store may be silent, and how often a request is made that it does not answer.
TIMEOUT_S = 5.0
_ATTEMPTS = 5
_T = TypeVar("_T")


@dataclass(frozen=True, repr=False)
class Credentials:
    """The keys of one who asks; without any, the store is asked anonymously. Fixed keys are their own provider."""

    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""

    @property
    def is_anonymous(self) -> bool:
        return not self.access_key

    def __call__(self) -> "Credentials":
        return self

    def __repr__(self) -> str:
        return f"Credentials({'anonymous' if self.is_anonymous else HIDDEN})"


class CredentialsProvider(Protocol):
    """Gives the credentials to use now; to add a provider, write one and name it in `_PROVIDERS` if Hadoop knows it.

    It is asked before every file is opened, so it keeps what it was given until that expires. It is pickled with a
    plan and compared by value: a frozen dataclass, or a function of a module.
    """

    def __call__(self) -> Credentials | None:
        """None for those of the process that reads: its environment, a profile, the machine's role."""


@dataclass(frozen=True)
class ProcessCredentials:
    """A provider that leaves credentials to the process that reads, whatever else was given."""

    def __call__(self) -> None:
        return None


@dataclass(frozen=True, repr=False)
class StorageConfiguration:
    """What was given explicitly of stores, S3's first; None where nothing was."""

    endpoint: str | None = None
    region: str | None = None
    credentials: CredentialsProvider | None = None
    """Where None, those of the process that reads."""
    attempts: int | None = None
    connect_timeout_s: float | None = None
    request_timeout_s: float | None = None
    buckets: tuple[tuple[str, "StorageConfiguration"], ...] = ()
    """What was given for a bucket alone, which comes first there."""
    azure: AzureConfiguration = field(default_factory=AzureConfiguration)
    gcs: GcsConfiguration = field(default_factory=GcsConfiguration)

    @staticmethod
    def from_environment() -> "StorageConfiguration":
        """What the environment of this process says; keys are left to the clients, which know profiles and roles."""
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return StorageConfiguration(endpoint=endpoint or None)

    @staticmethod
    def from_options(options: Mapping[str, object]) -> "StorageConfiguration":
        """Options by Hadoop's names, `fs.s3a.endpoint` or `fs.s3a.bucket.<bucket>.endpoint`; any other is refused."""
        by_bucket: dict[str, dict[str, str]] = {"": {}}
        others: dict[str, dict[str, str]] = {azure.PREFIX: {}, gcs.PREFIX: {}}
        for name, value in options.items():
            if known_option(name) is None:
                raise InvalidOption(name, f"there is no such option of storage. There are {_named_alike(name)}.")
            if not str(value):
                continue
            own = name.removeprefix(_OF_SPARK)
            place = _place(own)
            if place is not None:
                by_bucket.setdefault(place[0], {})[place[1]] = str(value)
            else:
                others[azure.PREFIX if own.startswith(azure.PREFIX) else gcs.PREFIX][own] = str(value)
        shared = by_bucket.pop("")
        # What keys a bucket has of its own are completed by those that all have.
        buckets = {bucket: _parsed(given, {**shared, **given}, bucket) for bucket, given in by_bucket.items()}
        return replace(
            _parsed(shared, shared, ""),
            buckets=tuple(sorted(buckets.items(), key=lambda item: item[0])),
            azure=AzureConfiguration.from_options(others[azure.PREFIX]),
            gcs=GcsConfiguration.from_options(others[gcs.PREFIX]),
        )

    @staticmethod
    def from_hadoop(options: Mapping[str, object]) -> "StorageConfiguration":
        """The same of what a session's Hadoop was told; what only Hadoop's own client knows is passed over."""
        return StorageConfiguration.from_options({name: value for name, value in options.items() if known_option(name)})

    def of_bucket(self, bucket: str) -> "StorageConfiguration":
        if not self.buckets:
            return self
        own, others = dict(self.buckets).get(bucket), replace(self, buckets=())
        return others if own is None else own.over(others)

    def over(self, other: "StorageConfiguration") -> "StorageConfiguration":
        """This, and the other where this says nothing."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        stores = {"azure": self.azure.over(other.azure), "gcs": self.gcs.over(other.gcs)}
        return replace(other, **{name: value for name, value in given.items() if value not in (None, ())} | stores)

    def __repr__(self) -> str:
        # A provider says by its class alone who it is: what else it shows is not ours to know.
        shown = {
            "endpoint": self.endpoint and masked(self.endpoint),
            "region": self.region,
            "credentials": self.credentials and type(self.credentials).__name__,
            "attempts": self.attempts,
            "connect_timeout_s": self.connect_timeout_s,
            "request_timeout_s": self.request_timeout_s,
            "buckets": dict(self.buckets) or None,
            "azure": self.azure if self.azure != AzureConfiguration() else None,
            "gcs": self.gcs if self.gcs != GcsConfiguration() else None,
        }
        given = (f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"StorageConfiguration({', '.join(given)})"


FROM_ENVIRONMENT = StorageConfiguration()
"""Nothing is given: every process that reads asks its own environment."""


@dataclass(frozen=True, repr=False)
class S3Settings:
    """What a client of S3 is made with. Two that are equal may share one."""

    endpoint: str
    region: str
    credentials: Credentials | None
    attempts: int
    connect_timeout_s: float
    request_timeout_s: float
    environment: tuple[tuple[str, str], ...]
    """What the clients look up themselves."""


def settings_of(configuration: StorageConfiguration, bucket: str) -> S3Settings:
    """What opens a bucket now: what was given for it, what was given for all, the environment, the defaults."""
    given, environment = configuration.of_bucket(bucket), StorageConfiguration.from_environment()
    return S3Settings(
        given.endpoint or environment.endpoint or "",
        given.region or "",
        None if given.credentials is None else given.credentials(),
        _or(given.attempts, _ATTEMPTS),
        _or(given.connect_timeout_s, TIMEOUT_S),
        _or(given.request_timeout_s, TIMEOUT_S),
        tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_"))),
    )


def _or(given: _T | None, default: _T) -> _T:
    return default if given is None else given


_PREFIX, _OF_SPARK, _OF_BUCKET = "fs.s3a.", "spark.hadoop.", "bucket."
_ACCESS, _SECRET, _TOKEN = "access.key", "secret.key", "session.token"
_PROVIDER, _TLS, _PATH_STYLE = "aws.credentials.provider", "connection.ssl.enabled", "path.style.access"
_DURATION = re.compile(r"^(\d+)\s*(ms|s|m|h)?$")
_SECONDS = {None: 0.001, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_S3_OPTIONS = {
    _PREFIX + short: says
    for short, says in {
        "endpoint": "Where the store is, if not at Amazon.",
        "endpoint.region": "The region. Without it, and without an endpoint, Amazon is asked for that of the bucket.",
        _ACCESS: "The key of one who asks; together with the next.",
        _SECRET: "Its secret.",
        _TOKEN: "The token that belongs to keys that expire.",
        _PROVIDER: "Which of Hadoop's providers gives credentials: fixed keys, none (anonymous) or the process's own.",
        _TLS: "Whether an endpoint without a scheme is one of https.",
        _PATH_STYLE: "Nothing: where an endpoint is given, the bucket is always named in the path.",
        "attempts.maximum": "How often a request is made that is not answered.",
        "connection.timeout": "How long the store may be silent, as `5s`; a number is milliseconds.",
        "connection.establish.timeout": "How long it may take to connect.",
    }.items()
}
OPTIONS = {**_S3_OPTIONS, **azure.OPTIONS, **gcs.OPTIONS}
"""What `from_options` knows, and what each means. `fs.s3a.bucket.<bucket>.` in place of `fs.s3a.` is for one bucket, an
account's host behind a name of Azure's for one account."""
SECRETS = frozenset(_PREFIX + short for short in (_ACCESS, _SECRET, _TOKEN)) | azure.SECRETS
"""What a credential store of Hadoop's may hold."""


def is_storage_option(name: str) -> bool:
    """Whether an option of a read is one of storage: no format has any of these names."""
    return name.lower().removeprefix(_OF_SPARK).startswith("fs.")


def known_option(name: str) -> str | None:
    """The option of `OPTIONS` that a name is, be it for one bucket or account; None for a name that is not known."""
    own = name.removeprefix(_OF_SPARK)
    place = _place(own)
    if place is not None:
        return _PREFIX + place[1]
    return azure.place_of(own) or (own if own in gcs.OPTIONS else None)


def _named_alike(name: str) -> str:
    """The options of the store whose prefix a name has, of S3 where it has none."""
    own = name.removeprefix(_OF_SPARK)
    prefix = next((prefix for prefix in (azure.PREFIX, gcs.PREFIX) if own.startswith(prefix)), _PREFIX)
    return ", ".join(option for option in OPTIONS if option.startswith(prefix))


def _place(name: str) -> tuple[str, str] | None:
    """The bucket that an option of S3 is for, empty for all, and the rest of its name."""
    if name in _S3_OPTIONS:
        return "", name.removeprefix(_PREFIX)
    # A bucket's name may have dots in it, as an option's has: the longest option counts.
    rest = name.removeprefix(_PREFIX + _OF_BUCKET)
    ends = [short for short in (known.removeprefix(_PREFIX) for known in _S3_OPTIONS) if rest.endswith(f".{short}")]
    if rest == name or not ends:
        return None
    short = max(ends, key=len)
    return rest.removesuffix(f".{short}"), short


def _parsed(given: Mapping[str, str], completed: Mapping[str, str], bucket: str) -> StorageConfiguration:
    """Options by the end of their names; `completed` has those of all buckets too, `bucket` is for messages."""
    prefix = f"{_PREFIX}{_OF_BUCKET}{bucket}." if bucket else _PREFIX
    tls = _flag(completed, _TLS, prefix)
    _flag(completed, _PATH_STYLE, prefix)
    endpoint = given.get("endpoint") or None
    if endpoint is not None and "://" not in endpoint:
        endpoint = f"{'https' if tls else 'http'}://{endpoint}"
    return StorageConfiguration(
        endpoint,
        given.get("endpoint.region") or None,
        _provider(completed, prefix) if {_ACCESS, _SECRET, _TOKEN, _PROVIDER} & set(given) else None,
        _whole_number(given, "attempts.maximum", prefix),
        _seconds(given, "connection.establish.timeout", prefix),
        _seconds(given, "connection.timeout", prefix),
    )


def _keys(given: Mapping[str, str], prefix: str) -> Credentials:
    for name, other in ((_ACCESS, _SECRET), (_SECRET, _ACCESS), (_TOKEN, _ACCESS)):
        if given.get(name) and not given.get(other):
            raise InvalidOption(prefix + name, f"{prefix}{other} is missing, without which it is worth nothing.")
    if not given.get(_ACCESS):
        raise InvalidOption(prefix + _PROVIDER, f"it asks for keys: give {prefix}{_ACCESS} and {prefix}{_SECRET}.")
    return Credentials(given[_ACCESS], given[_SECRET], given.get(_TOKEN, ""))


def _anonymous(given: Mapping[str, str], prefix: str) -> Credentials:
    return Credentials()


def _of_the_process(given: Mapping[str, str], prefix: str) -> ProcessCredentials:
    return ProcessCredentials()


# By the name of the class, whichever package an SDK has it in.
_PROVIDERS: Mapping[str, Callable[[Mapping[str, str], str], CredentialsProvider]] = {
    "SimpleAWSCredentialsProvider": _keys,
    "TemporaryAWSCredentialsProvider": _keys,
    "AnonymousAWSCredentialsProvider": _anonymous,
    "AnonymousCredentialsProvider": _anonymous,
    "EnvironmentVariableCredentialsProvider": _of_the_process,
    "DefaultAWSCredentialsProviderChain": _of_the_process,
    "DefaultCredentialsProvider": _of_the_process,
    # The process that reads has these too: Arrow's client asks for each in its turn.
    "IAMInstanceCredentialsProvider": _of_the_process,
    "InstanceProfileCredentialsProvider": _of_the_process,
    "ContainerCredentialsProvider": _of_the_process,
    "EC2ContainerCredentialsProviderWrapper": _of_the_process,
    "WebIdentityTokenFileCredentialsProvider": _of_the_process,
    "WebIdentityTokenCredentialsProvider": _of_the_process,
    "ProfileCredentialsProvider": _of_the_process,
}


def _provider(given: Mapping[str, str], prefix: str) -> CredentialsProvider:
    """The first provider that Hadoop would get credentials from; keys where none is named."""
    named = [text.strip() for text in given.get(_PROVIDER, "").split(",") if text.strip()]
    for name in named:
        make = _PROVIDERS.get(name.rpartition(".")[2])
        if make is None:
            why = f"{name} is not one of {', '.join(_PROVIDERS)}"
            raise InvalidOption(
                prefix + _PROVIDER,
                f"{why}. Give one of these, or keys, as options of the read, or write one as "
                "StorageConfiguration.credentials.",
            )
        if make is not _keys or given.get(_ACCESS) or name == named[-1]:
            return make(given, prefix)
    return _keys(given, prefix)


def _flag(given: Mapping[str, str], name: str, prefix: str) -> bool:
    text = given.get(name, "true").strip().lower()
    if text not in ("true", "false"):
        raise InvalidOption(prefix + name, f"{text!r} is neither 'true' nor 'false'.")
    return text == "true"


def _whole_number(given: Mapping[str, str], name: str, prefix: str) -> int | None:
    text = given.get(name)
    if text is not None and not (text.isascii() and text.isdigit() and int(text)):
        raise InvalidOption(prefix + name, f"{text!r} is no number above zero.")
    return None if text is None else int(text)


def _seconds(given: Mapping[str, str], name: str, prefix: str) -> float | None:
    text = given.get(name)
    if text is None:
        return None
    match = _DURATION.match(text.strip())
    if match is None or not int(match[1]):
        raise InvalidOption(prefix + name, f"{text!r} is no time above zero, as 5s; a number is milliseconds.")
    return int(match[1]) * _SECONDS[match[2]]
