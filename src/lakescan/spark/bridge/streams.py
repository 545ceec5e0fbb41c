"""What Spark's streams are made of on Java's side: scans and tasks, read limits, and who asks for a scan."""

import json
from collections.abc import Iterable

from lakescan.spark.bridge.java_classes import driver_class
from lakescan.spark.bridge.jvm import READ, Bridge
from lakescan.spark.bridge.proxy import JavaObject, Proxy
from lakescan.spark.bridge.tasks import TaskBlock
from lakescan.spark.bridge.trips import spark_state
from lakescan.stream.stream import Limits, Offset
from lakescan.table_names import CATALOG_CLASS

_STREAMING = READ + "streaming."


def stream_scan(
    bridge: Bridge,
    planner: Proxy,
    name: str,
    description: str,
    spark_schema: str,
    narrowed: bool,
    initial: Offset,
    limits: Limits,
) -> JavaObject:
    """A `StreamScan.java` that asks a planner."""
    constructor = driver_class(bridge, "StreamScan").getConstructors()[0]
    offset, limit, schema = json.dumps(dict(initial)), read_limit(bridge, limits), bridge.data_type(spark_schema)
    arguments = [planner, name, description, schema, narrowed, offset, limit]
    return constructor.newInstance(bridge.array("java.lang.Object", arguments))


def packed(tasks: Iterable[TaskBlock]) -> bytearray:
    """Tasks, a block each, as `StreamScan.java` unpacks them: how many, then each after its length."""
    messages = [task.to_bytes() for task in tasks]
    parts = (part for task in messages for part in (len(task).to_bytes(4, "big"), task))
    return bytearray(b"".join([len(messages).to_bytes(4, "big"), *parts]))


def read_limit(bridge: Bridge, limits: Limits) -> JavaObject:
    """The limits as Spark's `ReadLimit`."""
    kind = bridge.java_class(_STREAMING + "ReadLimit")
    made = [] if limits.files is None else [kind.maxFiles(limits.files)]
    made += [] if limits.bytes is None else [kind.maxBytes(limits.bytes)]
    if not made:
        return kind.allAvailable()
    return made[0] if len(made) == 1 else kind.compositeLimit(bridge.array(_STREAMING + "ReadLimit", made))


def is_for_a_stream(bridge: Bridge) -> bool:
    """Whether the calling thread asks for a scan builder to stream it: Spark says it by nothing but who calls.

    A function of foreachBatch runs in the stream's thread as well, so the caller itself is looked at.
    """
    if not spark_state(bridge).isOfAStream():
        return False
    _, _, callers = bridge.stack.partition(".newScanBuilder(")
    # Between Spark and the table are the proxies.
    caller = next((frame for frame in callers.split(", ") if frame.startswith("org.apache.spark.")), "")
    return ".MicroBatchExecution" in caller


def share_catalogs(bridge: Bridge, running: Bridge) -> None:
    """Let the session in which a stream runs know the catalogs of ours that the user's has.

    A copy of a session has its settings but no catalog that was put there. The function of foreachBatch works in it.
    """
    own, copied = bridge._catalogs, running._catalogs
    for name in str(own.keys().mkString("\n")).splitlines():
        if not copied.contains(name):
            catalog = own.get(name).get()
            if catalog.getClass().getName() == CATALOG_CLASS or bridge.python_object(catalog) is not None:
                copied.put(name, catalog)
