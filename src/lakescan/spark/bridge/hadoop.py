"""What a session's Hadoop was told of stores, so that a table opens with the keys and endpoints that Spark has already.

Told by `spark.hadoop.fs.s3a.*`, by `spark.conf`, by the context's own `hadoopConfiguration()` or by a `core-site.xml`:
all of it is in the session's configuration, or in the credential stores (`jceks`) that it names, which the driver's JVM
opens. What Hadoop itself presets there is left out.
"""

import os
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError

from lakescan.errors import InvalidOption
from lakescan.io import azure
from lakescan.io.configuration import (
    FROM_ENVIRONMENT,
    OPTIONS,
    SECRETS,
    StorageConfiguration,
    is_storage_option,
    known_option,
)
from lakescan.io.locations import options_prefix
from lakescan.io.storage import Storage
from lakescan.spark.bridge.jvm import Bridge

_S3, _OF_SPARK = "fs.s3a.", "spark.hadoop."
_OF_BUCKETS = _S3 + "bucket."
_PRESETS = "core-default.xml"
CREDENTIAL_STORES = "security.credential.provider.path"


def storage_at(bridge: Bridge, path: str | os.PathLike[str], options: Mapping[str, object] | None = None) -> Storage:
    """The folder of a table, opened with what the options of a read say, and the session where they say nothing."""
    place = Storage.at(path)
    given = {name: value for name, value in (options or {}).items() if is_storage_option(name)}
    own = StorageConfiguration.from_options(given)
    prefix = options_prefix(place.location)
    session = FROM_ENVIRONMENT if prefix is None else session_storage(bridge, prefix)
    return Storage.at(path, own.over(session))


def session_storage(bridge: Bridge, prefix: str) -> StorageConfiguration:
    """What the session says of the store whose options begin so; a secret in it is shown nowhere."""
    told = bridge.spark._jsparkSession.sessionState().newHadoopConf()
    # Of a context that ran already, a session's builder gives such a name to the session alone.
    own = _below(bridge, told, _OF_SPARK + prefix)
    for buckets_or_accounts in (_OF_BUCKETS, azure.PREFIX):
        if buckets_or_accounts.startswith(prefix):
            below = _below(bridge, told, buckets_or_accounts)
            own |= {name: value for name, value in below.items() if name not in OPTIONS}
    for name in OPTIONS:
        value = told.get(name) if name.startswith(prefix) else None
        if value is not None and list(told.getPropertySources(name) or ())[-1:] != [_PRESETS]:
            own[name] = value
    return StorageConfiguration.from_hadoop(own | _stored(bridge, told, own, prefix))


def _below(bridge: Bridge, told: Any, prefix: str) -> dict[str, str]:
    below = bridge.text_map(told.getPropsWithPrefix(prefix))
    return {f"{prefix.removeprefix(_OF_SPARK)}{name}": value for name, value in below.items()}


def _stored(bridge: Bridge, told: Any, own: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The secrets in the credential stores that the session names, by the names of options; they come before others."""
    shared = [told.get(_S3 + CREDENTIAL_STORES) if prefix == _S3 else None, told.get(f"hadoop.{CREDENTIAL_STORES}")]
    found = _secrets(bridge, told, ",".join(filter(None, shared)), prefix)
    for name, path in own.items():
        bucket = name.removeprefix(_OF_BUCKETS).removesuffix(f".{CREDENTIAL_STORES}")
        if name == f"{_OF_BUCKETS}{bucket}.{CREDENTIAL_STORES}":
            # What a bucket's own store says of all buckets is meant for that one.
            for secret, value in _secrets(bridge, told, path, prefix).items():
                mine = secret if secret.startswith(_OF_BUCKETS) else f"{_OF_BUCKETS}{bucket}.{secret.removeprefix(_S3)}"
                found[mine] = value
    return found


def _secrets(bridge: Bridge, told: Any, stores: str, prefix: str) -> dict[str, str]:
    if not stores:
        return {}
    named = bridge.java_class("org.apache.hadoop.conf.Configuration")(told)
    named.set(f"hadoop.{CREDENTIAL_STORES}", stores)
    found: dict[str, str] = {}
    try:
        factory = bridge.java_class("org.apache.hadoop.security.alias.CredentialProviderFactory")
        for store in factory.getProviders(named):
            for name in map(str, store.getAliases()):
                if name.startswith(prefix) and known_option(name) in SECRETS:
                    letters = store.getCredentialEntry(name).getCredential()
                    found.setdefault(name, str(bridge.java_class("java.lang.String")(letters)))
    except Py4JJavaError as error:
        why = " ".join(str(error.java_exception.getMessage()).split())
        raise InvalidOption(
            f"hadoop.{CREDENTIAL_STORES}", f"{why}. See that the file is there for the driver, with its password."
        ) from None
    return found
