"""Lakescan in a running session: its catalogs, its data sources and the names that the session's own catalog keeps.

Nothing else in the session changes, and to install twice is the same as once. What belongs to a format's own engine
stays there unless it is claimed.
"""

import os
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from lakescan.formats import registry
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.new_sessions import prepare_new_sessions
from lakescan.spark.dsv2.catalog import NameCatalog, PathCatalog, attach
from lakescan.spark.dsv2.configured import configured, serve_configured
from lakescan.spark.dsv2.data_source import claim_sources, install_sources
from lakescan.spark.dsv2.functions import install_functions
from lakescan.spark.dsv2.merged_subqueries import install_merging
from lakescan.spark.dsv2.ownership import is_read_here, names_paths
from lakescan.spark.dsv2.session_names import install_names
from lakescan.table_names import NAMES


def install_catalogs(spark: SparkSession, claimed: Collection[str] = ()) -> None:
    """The catalogs in the session, those of an earlier call stay with their tables; and `format("lakescan")`.

    A format's name is left to its own catalog where the session has that, unless the name is claimed, and the name
    `lake` to whoever has it. Where the settings have a catalog of ours, each new session of the application has all of
    this too.
    """
    if install_alone(spark, claimed):
        prepare_new_sessions(Bridge(spark), partial(install_catalogs, claimed=claimed))


def install_alone(spark: SparkSession, claimed: Collection[str] = ()) -> bool:
    """The same in this session alone; gives whether the settings have a catalog of ours."""
    bridge = Bridge(spark)
    for format_ in registry.FORMATS:
        has_ours = isinstance(bridge.catalog(format_.name), PathCatalog)
        if not is_read_here(spark, format_):
            if has_ours:
                bridge.remove_catalog(format_.name)
        elif not has_ours and (format_.name in claimed or names_paths(spark, format_)):
            bridge.put_catalog(format_.name, PathCatalog(bridge, format_))
    by_settings = configured(spark)
    if by_settings:
        serve_configured(spark)
    if not bridge.has_catalog(NAMES):
        bridge.put_catalog(NAMES, NameCatalog(bridge, NAMES))
    served = install_sources(spark)
    claim_sources(spark, claimed, served)
    install_names(spark, served)
    install_functions(spark)
    install_merging(spark)
    return bool(by_settings)


def install_everywhere(spark: SparkSession) -> None:
    """The same in a session and in all that the application makes from now on, those of Connect clients too."""
    install_catalogs(spark)
    prepare_new_sessions(Bridge(spark), install_catalogs)


def attach_table(spark: SparkSession, name: str, path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    install_catalogs(spark)
    attach(Bridge(spark), name, path, options)
