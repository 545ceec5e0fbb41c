"""Lakescan in a running session: its catalogs, its data sources and the names that the session's own catalog keeps.

Nothing else in the session changes, and to install twice is the same as once. What belongs to a format's own engine
stays there unless it is claimed.
"""

import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import SparkSession

from lakescan import formats
from lakescan.errors import InvalidName, InvalidOption
from lakescan.formats import format_at, no_table
from lakescan.io.configuration import is_storage_option
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.hadoop import storage_at
from lakescan.spark.dsv2.catalog import NAMES, NameCatalog, PathCatalog
from lakescan.spark.dsv2.data_source import claim_sources, install_sources
from lakescan.spark.dsv2.functions import install_functions
from lakescan.spark.dsv2.ownership import is_read_here, names_paths
from lakescan.spark.dsv2.session_names import install_names
from lakescan.spark.dsv2.table import load_snapshot

_NAME = re.compile(r"[^`./\\\s\x00-\x1f\x7f]+")


def install_catalogs(spark: SparkSession, claimed: Collection[str] = ()) -> NameCatalog:
    """The catalogs in the session, those of an earlier call stay with their tables; and `format("lakescan")`.

    A format's name is left to its own catalog where the session has that, unless the name is claimed.
    """
    bridge = Bridge(spark)
    for format_ in formats.FORMATS:
        has_ours = isinstance(bridge.catalog(format_.name), PathCatalog)
        if not is_read_here(spark, format_):
            if has_ours:
                bridge.remove_catalog(format_.name)
        elif not has_ours and (format_.name in claimed or names_paths(spark, format_)):
            bridge.put_catalog(format_.name, PathCatalog(bridge, format_))
    names = bridge.catalog(NAMES)
    if not isinstance(names, NameCatalog):
        names = NameCatalog(bridge, NAMES)
        bridge.put_catalog(NAMES, names)
    served = install_sources(spark)
    claim_sources(spark, claimed, served)
    install_names(spark, served)
    install_functions(spark)
    return names


def attach_table(spark: SparkSession, name: str, path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidName(
            name, "use letters, digits and underscores; no dots, slashes, backticks, spaces or line breaks."
        )
    kept = next((option for option in options if is_storage_option(option)), None)
    if kept is not None:
        raise InvalidOption(kept, "a name keeps no options of storage. Set it in the session: spark.conf.set(...).")
    bridge = Bridge(spark)
    location = storage_at(bridge, path)
    if format_at(location) is None:
        raise no_table(location)
    # A mistyped option is told here, where it is written, and not when a query runs.
    _, asked = load_snapshot(bridge, location.location, options=options)
    install_catalogs(spark).attached[name.lower()] = (location.location, asked.options)
