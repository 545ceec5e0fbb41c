"""What of PySpark's Python streaming API depends on its release; the counterpart of `bridge` where there is no JVM.

PySpark 4.2 and later ask a source for a batch of a given size (admission control) and tell it when
Trigger.AvailableNow begins. PySpark 4.0 and 4.1 do neither: there a batch is all there is, and an option that
needs more is refused by name.
"""

from typing import Any

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader

from lakescan.errors import UnsupportedSpark
from lakescan.stream.stream import Limits, PinnedStream

HAS_ADMISSION_CONTROL = hasattr(DataSourceStreamReader, "getDefaultReadLimit")

if HAS_ADMISSION_CONTROL:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as SupportsTriggerAvailableNow
else:

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Stands where older releases have no such class."""


def refuse_what_the_api_lacks(stream: PinnedStream) -> None:
    option = stream.needs_admission_control
    if option is not None and not HAS_ADMISSION_CONTROL:
        raise UnsupportedSpark(
            f"The option {option} needs admission control, which PySpark's Python data sources have from release 4.2 "
            f"on; this is {pyspark.__version__}. Leave the option out, or use a newer PySpark."
        )


def read_limit(limits: Limits) -> Any:
    """The limits as PySpark's `ReadLimit`, which holds one of them: `limits_of` brings back the other."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles

    if limits.files is not None:
        return ReadMaxFiles(limits.files)
    return ReadAllAvailable() if limits.bytes is None else ReadMaxBytes(limits.bytes)


def limits_of(limit: Any, own: Limits) -> Limits:
    """What the engine asks for: our own limits where it gives them back, else exactly its own."""
    if limit == read_limit(own):
        return own
    return Limits(getattr(limit, "max_files", None), getattr(limit, "max_bytes", None))
