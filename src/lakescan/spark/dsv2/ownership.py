"""Whose a format's tables and its name are in a session: Lakescan's, or those of the format's own engine."""

from pyspark.sql import SparkSession

from lakescan.scan.format import AnyFormat


def is_read_here(spark: SparkSession, format_: AnyFormat) -> bool:
    """Whether a format's tables are read by Lakescan: its own switch decides; not set, its own catalog comes first."""
    own = format_.own_catalog
    if own is None or own.switch is None:
        return True
    switch = str(spark.conf.get(own.switch, "")).lower()
    return switch == "true" if switch else not has_own(spark, format_)


def names_paths(spark: SparkSession, format_: AnyFormat) -> bool:
    """Whether the format's name is free, or the format's own switch gives it away."""
    own = format_.own_catalog
    return not has_own(spark, format_) or (own is not None and own.switch is not None)


def has_own(spark: SparkSession, format_: AnyFormat) -> bool:
    """Whether the session has the format's own catalog, or another one under its name."""
    return is_sessions_own(spark, format_) or bool(spark.conf.get(f"spark.sql.catalog.{format_.name}", ""))


def is_sessions_own(spark: SparkSession, format_: AnyFormat) -> bool:
    """Whether the session's catalog is the format's own."""
    own = format_.own_catalog
    return own is not None and spark.conf.get("spark.sql.catalog.spark_catalog", "") == own.java_class
