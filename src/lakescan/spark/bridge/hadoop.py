"""What a session's Hadoop was told of stores, so that a table opens with the keys and endpoints that Spark has already.

Told by `spark.hadoop.fs.s3a.*`, by `spark.conf`, by the context's own `hadoopConfiguration()` or by a `core-site.xml`:
all of it is in the session's configuration. What Hadoop itself presets there is left out.
"""

import os
from collections.abc import Mapping
from typing import Any

from lakescan.io.configuration import FROM_ENVIRONMENT, OPTIONS, StorageConfiguration, is_storage_option
from lakescan.io.locations import is_in_s3
from lakescan.io.storage import Storage
from lakescan.spark.bridge.jvm import Bridge

_PREFIX, _OF_SPARK = "fs.s3a.", "spark.hadoop."
_OF_BUCKETS = _PREFIX + "bucket."
_PRESETS = "core-default.xml"


def storage_at(bridge: Bridge, path: str | os.PathLike[str], options: Mapping[str, object] | None = None) -> Storage:
    """The folder of a table, opened with what the options of a read say, and the session where they say nothing."""
    place = Storage.at(path)
    given = {name: value for name, value in (options or {}).items() if is_storage_option(name)}
    own = StorageConfiguration.from_options(given)
    session = session_storage(bridge) if is_in_s3(place.location) else FROM_ENVIRONMENT
    return Storage.at(path, own.over(session))


def session_storage(bridge: Bridge) -> StorageConfiguration:
    """What the session says of S3; a secret in it is shown nowhere."""
    told = bridge.spark._jsparkSession.sessionState().newHadoopConf()
    # Of a context that ran already, a session's builder gives such a name to the session alone.
    own = _below(bridge, told, _OF_SPARK + _PREFIX) | _below(bridge, told, _OF_BUCKETS)
    for name in OPTIONS:
        value = told.get(name)
        if value is not None and list(told.getPropertySources(name) or ())[-1:] != [_PRESETS]:
            own[name] = value
    return StorageConfiguration.from_hadoop(own)


def _below(bridge: Bridge, told: Any, prefix: str) -> dict[str, str]:
    below = bridge.text_map(told.getPropsWithPrefix(prefix))
    return {f"{prefix.removeprefix(_OF_SPARK)}{name}": value for name, value in below.items()}
