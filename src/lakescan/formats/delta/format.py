"""What the list of formats has of Delta Lake."""

from collections.abc import Mapping

from lakescan.formats.delta import options
from lakescan.formats.delta.detail import delta_detail
from lakescan.formats.delta.log.names import SIGN
from lakescan.formats.delta.table import DeltaTable, has_log, is_delta, open_delta
from lakescan.scan.format import Format, OwnCatalog
from lakescan.scan.snapshot import Snapshot
from lakescan.stream.stream import PinnedStream


def _pin_stream(table: DeltaTable, given: Mapping[str, str], seen: Snapshot | None) -> PinnedStream:
    # Most tables are never read as a stream.
    from lakescan.formats.delta.stream.pinned_stream import PinnedDeltaStream

    return PinnedDeltaStream.of(table, given, seen)


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
    pin_stream=_pin_stream,
    has_log=has_log,
    own_catalog=OwnCatalog(
        "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        serves_paths=True,
        packages=("io.delta.", "org.apache.spark.sql.delta."),
    ),
    detail=delta_detail,
)
