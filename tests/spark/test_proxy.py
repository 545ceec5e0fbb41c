"""What Python gives to Java arrives, however soon Py4J forgets what Python no longer holds."""

import gc
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection, JavaClient
from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession

from lakescan.spark.bridge import Bridge, JavaObject, Proxy

pytestmark = pytest.mark.spark

CALLS = 20


class Gives(Proxy):
    """Gives an object that only Java wants, each time another one."""

    def get(self) -> JavaObject:
        return self.bridge.java_class("java.util.Date")(7)

    class Java:
        implements = ("java.util.function.Supplier",)


class Fails(Proxy):
    """Gives nothing but an error."""

    def get(self) -> Any:
        raise ValueError("never given")

    class Java:
        implements = ("java.util.function.Supplier",)


@pytest.fixture
def forgetting_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's garbage is collected after each call of Java's, and the JVM told at once; else both happen some time."""

    def forget(client: JavaClient, target: str, enqueue: bool = True) -> None:
        GatewayClient.garbage_collect_object(client, target)

    def called(connection: ClientServerConnection, *arguments: Any) -> Any:
        message = call(connection, *arguments)
        gc.collect()
        return message

    call = ClientServerConnection._call_proxy
    monkeypatch.setattr(JavaClient, "garbage_collect_object", forget)
    monkeypatch.setattr(ClientServerConnection, "_call_proxy", called)


@pytest.mark.usefixtures("forgetting_at_once")
def test_java_gets_every_object_that_python_gives(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    given = bridge.java_class("java.util.stream.Stream").generate(Gives(bridge)).limit(CALLS).toArray()
    rows = bridge.java_class("java.util.Arrays").asList(given)
    wanted = bridge.java_class("java.util.Date")(7)
    assert bridge.java_class("java.util.Collections").frequency(rows, wanted) == CALLS


@pytest.mark.usefixtures("forgetting_at_once")
def test_java_gets_the_error_of_every_call(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    nothing = bridge.java_class("java.util.Optional").empty()
    for _ in range(CALLS):
        with pytest.raises(Exception, match=r"LAKESCAN_INTERNAL_ERROR.* never given"):
            nothing.orElseGet(Fails(bridge))
