"""Delta Lake: from `_delta_log` to a `scan.Snapshot`."""

from lakescan.formats.delta import options
from lakescan.formats.delta.log.names import SIGN
from lakescan.formats.delta.stream.pinned import PinnedDeltaStream
from lakescan.formats.delta.table import DeltaTable, is_delta, open_delta
from lakescan.scan.format import Format, OwnCatalog

FORMAT = Format(
    name=DeltaTable.format,
    title="Delta",
    sign=SIGN,
    detect=is_delta,
    open=open_delta,
    options=options.OPTIONS,
    asked_of=options.asked_of,
    range_asked=options.range_asked,
    pinned=options.pinned,
    pin_stream=PinnedDeltaStream.of,
    own_catalog=OwnCatalog("org.apache.spark.sql.delta.catalog.DeltaCatalog", serves_paths=True),
)

__all__ = ["FORMAT", "DeltaTable", "is_delta", "open_delta"]
