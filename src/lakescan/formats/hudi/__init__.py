"""Apache Hudi: from `.hoodie` to a `scan.Snapshot`, on the `hudi` package (hudi-rs)."""

from lakescan.formats.hudi import options
from lakescan.formats.hudi.names import SIGN
from lakescan.formats.hudi.stream.pinned import PinnedHudiStream
from lakescan.formats.hudi.table import HudiTable, is_hudi
from lakescan.scan.format import Format, OwnCatalog

FORMAT = Format(
    name=HudiTable.format,
    title="Hudi",
    sign=SIGN,
    detect=is_hudi,
    open=HudiTable,
    options=options.OPTIONS,
    asked_of=options.asked_of,
    range_asked=options.range_asked,
    pinned=options.pinned,
    pin_stream=PinnedHudiStream.of,
    own_catalog=OwnCatalog("org.apache.spark.sql.hudi.catalog.HoodieCatalog", switch="hoodie.datasource.read.use.dsv2"),
)

__all__ = ["FORMAT", "HudiTable", "is_hudi"]
