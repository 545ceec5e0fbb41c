"""What the list of formats has of Apache Hudi."""

from lakescan.formats.hudi import options
from lakescan.formats.hudi.names import SIGN
from lakescan.formats.hudi.opening import is_hudi, open_hudi, pin_stream
from lakescan.scan.format import Format, OwnCatalog

FORMAT = Format(
    name="hudi",
    title="Hudi",
    sign=SIGN,
    detect=is_hudi,
    open=open_hudi,
    options=options.OPTIONS,
    asked_of=options.asked_of,
    range_asked=options.range_asked,
    pinned=options.pinned,
    pin_stream=pin_stream,
    own_catalog=OwnCatalog("org.apache.spark.sql.hudi.catalog.HoodieCatalog", switch="hoodie.datasource.read.use.dsv2"),
)
