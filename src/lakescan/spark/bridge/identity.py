"""Java objects told apart by identity, which Py4J's references do not show, without keeping them alive."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge


class LivingObjects:
    """Java objects by number, as long as Java has them."""

    def __init__(self, bridge: "Bridge") -> None:
        # A map with weak keys is the one of Guava's, which Spark brings, that compares them by identity.
        self._numbers = bridge.java_class("com.google.common.collect.MapMaker")().weakKeys().makeMap()
        converters = bridge.java_class("scala.jdk.javaapi.CollectionConverters")
        # Py4J would iterate over a Java map's values one trip each.
        self._by_scala = converters.asScala(self._numbers)

    def number(self, java_object: Any, new: int) -> int:
        """The object's number, from now on the new one where it has none."""
        known = self._numbers.putIfAbsent(java_object, new)
        return new if known is None else int(known)

    def living(self) -> set[int]:
        """The numbers of the objects that Java still has."""
        text = str(self._by_scala.values().mkString(","))
        return set(map(int, text.split(","))) if text else set()
