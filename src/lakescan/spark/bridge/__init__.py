"""Everything that depends on how PySpark reaches the JVM, on private Spark classes, or on Spark's version."""

from lakescan.spark.bridge.identity import LivingObjects
from lakescan.spark.bridge.jvm import CATALOG, EXPRESSIONS, READ, Bridge
from lakescan.spark.bridge.proxy import BatchScan, JavaObject, Proxy

__all__ = ["CATALOG", "EXPRESSIONS", "READ", "BatchScan", "Bridge", "JavaObject", "LivingObjects", "Proxy"]
