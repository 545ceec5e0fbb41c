"""A session's way to its JVM: makes and takes apart the Java objects that the rest of `spark/` speaks of.

Which private class of Spark's is used, and what differs between its versions, is known here and nowhere else.
"""

import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.core.context import SparkContext
from pyspark.core.rdd import _prepare_for_python_RDD
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from lakescan.errors import (
    InternalError,
    LakescanError,
    NotASession,
    NotOnConnect,
    ReadOnly,
    StoppedSession,
    UnsupportedFeature,
    UnsupportedType,
)
from lakescan.spark.bridge.connections import bound_connections
from lakescan.spark.bridge.java_classes import count_and_size
from lakescan.spark.bridge.proxy import JavaObject, Proxy
from lakescan.spark.bridge.python_source import finds_by_itself, register, registered_sources
from lakescan.spark.bridge.trips import in_words, known_class, scan_parts, spark_state
from lakescan.spark.dsv2.plain_files import PlainColumns
from lakescan.table_names import CATALOG_CLASS
from lakescan.types.schema import arrow_schema

READ = "org.apache.spark.sql.connector.read."
CATALOG = "org.apache.spark.sql.connector.catalog."
EXPRESSIONS = "org.apache.spark.sql.connector.expressions."
PYTHON = "org.apache.spark.sql.execution.datasources.v2.python."
_METRIC = "org.apache.spark.sql.connector.metric."
_PYSPARK_DEFAULT = "python3"
_REMEMBERED = "lakescan.Remembered"


class Bridge:
    """One session."""

    def __init__(self, spark: SparkSession) -> None:
        if spark is None or isinstance(spark, (str, os.PathLike)):
            raise NotASession(spark)
        if not hasattr(spark, "_jsparkSession"):
            raise NotOnConnect(
                "This session has no JVM in reach, which DataSource V2 needs. Use a classic session "
                "(SparkSession.builder.master(...)) or Spark Connect with a server by `lakescan connect`."
            )
        self.spark = spark
        self._context: Any = spark.sparkContext
        if self._context._jsc is None:
            raise StoppedSession()
        self._gateway: Any = self._context._gateway
        self.gateway = self._gateway
        ensure_callback_server_started(self._gateway)  # type: ignore[no-untyped-call]
        # Without this, Java sees every error raised in a callback as Py4J's own, with the text of a stack.
        gateway: Any = self._gateway
        gateway.python_parameters.propagate_java_exceptions = True
        gateway._callback_server.callback_server_parameters.propagate_java_exceptions = True
        bound_connections(self)

    def of_calling_thread(self) -> "Bridge":
        """The session for which the calling thread works, which need not be the one that this bridge was made for."""
        return Bridge(python_session(self.java_class("org.apache.spark.sql.classic.SparkSession").active()))

    # Plain values

    def array(self, java_class: str, items: Iterable[Any]) -> JavaObject:
        elements = list(items)
        array = self._gateway.new_array(self.java_class(java_class), len(elements))
        for at, item in enumerate(elements):
            # Py4J's own `array[at] = item` cannot pass an object that Python implements.
            self.java_class("java.lang.reflect.Array").set(array, at, item)
        return array

    def java_class(self, name: str) -> Any:
        return known_class(self._gateway, name)

    def data_type(self, spark_json: str) -> JavaObject:
        return self.java_class("org.apache.spark.sql.types.DataType").fromJson(spark_json)

    def java_set(self, items: Iterable[Any]) -> JavaObject:
        java_set = self.java_class("java.util.HashSet")()
        for item in items:
            java_set.add(item)
        return java_set

    def java_map(self, items: dict[str, str]) -> JavaObject:
        java_map = self.java_class("java.util.HashMap")()
        for key, value in items.items():
            java_map.put(key, value)
        return java_map

    def text_map(self, items: JavaObject) -> dict[str, str]:
        return _pairs(spark_state(self).words(items))

    def optional_long(self, value: int | None) -> JavaObject:
        optional = self.java_class("java.util.OptionalLong")
        return optional.empty() if value is None else optional.of(value)

    def optional(self, value: Any) -> JavaObject:
        return self.java_class("java.util.Optional").ofNullable(value)

    def java_decimal(self, text: str) -> JavaObject:
        return self.java_class("org.apache.spark.sql.types.Decimal").apply(text)

    def by_column(self, items: Mapping[str, Proxy]) -> JavaObject:
        """A Java map from columns to proxies."""
        java_map = self.java_class("java.util.HashMap")()
        reference = self.java_class(EXPRESSIONS + "FieldReference")
        for name, item in items.items():
            java_map.put(reference.column(name), item)
        return java_map

    def described(self, expressions: JavaObject, most_values: int) -> str:
        """Expressions, or one, as `DescribedExpressions.java` tells them."""
        return str(spark_state(self).described(expressions, most_values))

    def described_aggregation(self, aggregation: JavaObject) -> str:
        return str(spark_state(self).describedAggregation(aggregation))

    def chosen(
        self, predicates: JavaObject | None, numbers: Iterable[int], before: JavaObject | None = None
    ) -> JavaObject:
        """Those of an array of predicates that have these numbers, behind those that were chosen before."""
        return spark_state(self).chosen(before, predicates, ",".join(map(str, numbers)))

    @property
    def release(self) -> tuple[int, int]:
        """Spark's, as two numbers."""
        major, minor = self.spark.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def parallelism(self) -> int:
        return int(self._context.defaultParallelism)

    @property
    def time_zone(self) -> str:
        return str(self.sql_conf.sessionLocalTimeZone())

    @cached_property
    def sql_conf(self) -> JavaObject:
        """The session's settings."""
        return self.spark._jsparkSession.sessionState().conf()

    def confs(self, prefix: str) -> dict[str, str]:
        """The session's settings whose names begin so, with or without `spark.` before them."""
        return _pairs(spark_state(self).settings(self.sql_conf, prefix))

    @property
    def uses_column_statistics(self) -> bool:
        """Whether the optimizer would look at what is known of columns."""
        return bool(self.sql_conf.cboEnabled())

    # Tables and columns

    def columns(self, spark_schema: str) -> JavaObject:
        return spark_state(self).columns(spark_schema)

    def names(self, identifier: JavaObject) -> tuple[tuple[str, ...], str]:
        """The namespace of a table, and its own name."""
        *inside, name = str(spark_state(self).partsOf(identifier)).split("\0")
        return tuple(inside), name

    def identity_partitions(self, names: Iterable[str]) -> JavaObject:
        return self.identities(names, "Transform")

    def identities(self, names: Iterable[str], kind: str) -> JavaObject:
        """The columns as they are, as an array of the kind that is asked for."""
        identity = self.java_class(EXPRESSIONS + "LogicalExpressions").identity
        column = self.java_class(EXPRESSIONS + "FieldReference").column
        return self.array(EXPRESSIONS + kind, [identity(column(name)) for name in names])

    def references(self, names: Iterable[str]) -> JavaObject:
        return spark_state(self).references(in_words(names))

    @property
    def thread(self) -> int:
        """The number of the JVM's thread that waits for this callback; Python's own threads do not follow it."""
        return int(spark_state(self).thread())

    @property
    def analysis(self) -> JavaObject | None:
        """What stands for the query for which the calling thread loads a table, None where that cannot be told.

        A callback runs in the thread that called it, so Spark's thread-local state is that of the query. While a
        query is analyzed, the cache of relations is one object for it, its views and subqueries included; at any
        other time that is an object that lives as long as the thread, so the stack has to tell.
        """
        return spark_state(self).analysis()

    @property
    def optimization(self) -> JavaObject | None:
        """What stands for the query that the calling thread optimizes, its subqueries included; None where it does not.

        Spark's tracker of a query's planning is one object for it, whose rules run in one thread.
        """
        return spark_state(self).optimization()

    @property
    def stack(self) -> str:
        """The calls in which the JVM's thread is that waits for this callback, innermost first."""
        return str(spark_state(self).stack())

    def data_frame(self, table: Proxy, options: dict[str, str]) -> DataFrame:
        """A DataFrame over a table that no catalog knows."""
        none = self.java_class("scala.Option").empty()
        relations = self.java_class("org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation")
        given = self.java_class("org.apache.spark.sql.util.CaseInsensitiveStringMap")(self.java_map(options))
        # Spark 4.1 added the time travel that a name may ask for.
        travel = [none] if self.release >= (4, 1) else []
        plan = relations.create(self.remembered(table), none, none, given, *travel)
        session = self.spark._jsparkSession
        return DataFrame(self.java_class("org.apache.spark.sql.classic.Dataset").ofRows(session, plan), self.spark)

    # Catalogs

    @property
    def _catalogs(self) -> JavaObject:
        """The session's catalogs by name: a Scala map that no public method gives."""
        manager = self.spark._jsparkSession.sessionState().catalogManager()
        field = manager.getClass().getDeclaredField("catalogs")
        field.setAccessible(True)
        return field.get(manager)

    def catalog(self, name: str) -> object | None:
        """The catalog of that name where it is one of ours, else None."""
        plugin = self._catalogs.get(name)
        if not plugin.isDefined():
            return None
        made = plugin.get()
        # One that Spark made by its settings has ours inside.
        return self.python_object(made.python() if made.getClass().getName() == CATALOG_CLASS else made)

    def has_catalog(self, name: str) -> bool:
        """Whether the session has a catalog of that name, whoever's, or settings by which Spark will make one."""
        return bool(self._catalogs.contains(name) or self.spark.conf.get(f"spark.sql.catalog.{name}", ""))

    def put_catalog(self, name: str, catalog: Proxy | JavaObject) -> None:
        self._catalogs.put(name, self.remembered(catalog) if isinstance(catalog, Proxy) else catalog)

    def remove_catalog(self, name: str) -> None:
        self._catalogs.remove(name)

    def register_data_source(self, source: type[DataSource]) -> None:
        """Make `spark.read.format(source.name())` work in this session, where it does not yet."""
        if finds_by_itself(self) or registered_sources(self).containsKey(source.name()):
            return
        chosen = self._context.pythonExec
        # Spark remembers, with the source, which interpreter is to run it.
        self._context.pythonExec = self._worker_interpreter
        try:
            register(self, source)
        finally:
            self._context.pythonExec = chosen

    # Objects of ours that Java has

    def remembered(self, proxy: Proxy) -> JavaObject:
        """The object as Java is to have it: answers that do not change are asked of Python once."""
        return spark_state(self).remembered(proxy, ",".join(proxy.ANSWERS_FOR_EVER), ",".join(proxy.ANSWERS_AT_FIRST))

    def python_object(self, proxy: JavaObject) -> object | None:
        """The Python object behind a Java proxy, None where Java implements the interface itself."""
        reflect = self.java_class("java.lang.reflect.Proxy")
        if not reflect.isProxyClass(proxy.getClass()):
            return None
        handler = reflect.getInvocationHandler(proxy)
        kind = handler.getClass().getName()
        if kind == _REMEMBERED:
            return self.python_object(handler.python())
        if kind != "py4j.reflection.PythonProxyHandler":
            return None
        field = handler.getClass().getDeclaredField("id")
        field.setAccessible(True)
        implementation: object = self._gateway.gateway_property.pool[field.get(handler)]
        return implementation

    def scans_of(self, df: DataFrame) -> Iterator[object]:
        """The Python scans of a query's optimized plan, each once, those in its subqueries included.

        A plan names a scan again wherever it uses the scan's subquery or its values for pruning.
        """
        plan = df._jdf.queryExecution().optimizedPlan()
        given: list[object] = []
        for root in (plan, *_items(plan.subqueriesAll())):
            for leaf in _items(root.collectLeaves()):
                if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation":
                    scan = self.python_object(leaf.scan())
                    if scan is not None and not any(scan is earlier for earlier in given):
                        given.append(scan)
                        yield scan

    # Rows and metrics that the driver makes

    def internal_rows(self, rows: pa.Table, schema: StructType) -> JavaObject:
        """Rows as Catalyst holds them."""
        # Arrow's cast forgets how many rows a table without columns has.
        typed = rows.rename_columns(schema.names).cast(arrow_schema(schema.jsonValue())) if schema.names else rows
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, typed.schema) as writer:
            writer.write_table(typed)
        return spark_state(self).rows(bytearray(stream.getvalue()), schema.json())

    def metrics(self, counts: Mapping[str, str], sizes: Mapping[str, str] | None = None) -> JavaObject:
        """Metrics and what they are called. Spark makes one itself by the name of its class, so Java must know that."""
        # Spark's own shows everything as a size.
        own = PYTHON + "PythonCustomMetric"
        count, size = (count_and_size(self) if counts or sizes else None) or (own, own)
        made = [self.java_class(count)(name, text) for name, text in counts.items()]
        made += [self.java_class(size)(name, text) for name, text in (sizes or {}).items()]
        return self.array(_METRIC + "CustomMetric", made)

    def metric_values(self, values: dict[str, int]) -> JavaObject:
        return spark_state(self).metricValues(in_words(word for pair in values.items() for word in map(str, pair)))

    # Executors

    def reader_factory(
        self, read: Callable[..., Any], schema: StructType, limited: bool, plain: PlainColumns | None
    ) -> JavaObject:
        """A factory of readers in Python workers: `read` takes and gives iterators of Arrow batches.

        Where it is `limited`, `read` ends by itself at the query's limit. Tasks with `plain` columns may not need it.
        """
        pickled, broadcasts, environment, includes = _prepare_for_python_RDD(self._context, (read, schema))
        parts = scan_parts(self)
        function = parts.function(
            bytearray(pickled),
            in_words(word for pair in environment.items() for word in pair),
            in_words(includes),
            self._worker_interpreter,
            self._context.pythonVer,
            broadcasts or None,
            self._context._javaAccumulator,
        )
        told: list[Any] = [None, None, None, None]
        if plain is not None:
            places = struct.pack(f">{len(plain.places)}i", *plain.places)
            filters = None if plain.filters is None else bytearray(plain.filters)
            told = [plain.stored.json(), plain.partitions.json(), bytearray(places), filters]
        return parts.readers(function, self.sql_conf, schema.json(), limited, *told)

    @property
    def _worker_interpreter(self) -> str:
        """What the user has set; else, where workers are on this machine, the interpreter that runs the driver."""
        chosen = str(self._context.pythonExec)
        on_this_machine = self._context.master.startswith("local")
        return sys.executable if chosen == _PYSPARK_DEFAULT and on_this_machine else chosen

    # Errors

    def java_error(self, error: Exception) -> Py4JJavaError:
        """An error as an exception that Java can throw; PySpark shows its message and nothing around it.

        Java wraps an exception that the called method does not declare, unless it is a RuntimeException; of
        those, PySpark knows the two below as errors of its own.
        """
        thrown = getattr(error, "_origin", None)
        if thrown is not None and self.java_class("java.lang.RuntimeException")._java_lang_class.isInstance(thrown):
            # What Java has thrown to Python it may have back.
            return Py4JJavaError(str(error), thrown)
        named = error if isinstance(error, LakescanError) else InternalError(f"{type(error).__name__}: {error}")
        text = f"[{named.condition}] {named}"
        unsupported = isinstance(named, (UnsupportedFeature, UnsupportedType, ReadOnly))
        kind = "java.lang.UnsupportedOperationException" if unsupported else "java.lang.IllegalArgumentException"
        return Py4JJavaError(text, self.java_class(kind)(text))

    def no_such_table(self, identifier: JavaObject) -> Py4JJavaError:
        missing = self.java_class("org.apache.spark.sql.catalyst.analysis.NoSuchTableException")(identifier)
        return Py4JJavaError(f"no table {identifier.toString()}", missing)


def python_session(java_session: JavaObject) -> SparkSession:
    """Python's object for a session that Java made."""
    # PySpark's own way to such an object would make it the session of `rdd.toDF` too.
    session: Any = SparkSession.__new__(SparkSession)
    context: Any = SparkContext._active_spark_context
    session._sc, session._jsc, session._jvm = context, context._jsc, context._jvm
    session._jsparkSession = java_session
    return session  # type: ignore[no-any-return]


def _items(sequence: JavaObject) -> list[JavaObject]:
    return [sequence.apply(at) for at in range(sequence.size())]


def _pairs(words: JavaObject) -> dict[str, str]:
    """A map of names and values, each of which has a NUL behind it."""
    parts = str(words).split("\0")
    return dict(zip(parts[::2], parts[1::2], strict=False))
