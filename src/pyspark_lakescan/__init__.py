"""What PySpark finds by itself: it imports modules whose names begin so and takes `DefaultSource` for a data source.

So `format("lakescan")` works in each session of every application that has Lakescan installed, with no call, as a
Python data source. To import this costs next to nothing: PySpark does so in applications that never read by it too.
"""

from typing import Any

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """The data source `lakescan`; the class that reads is imported when there is something to read."""

    @classmethod
    def name(cls) -> str:
        return "lakescan"

    def __new__(cls, options: dict[str, str]) -> Any:
        from lakescan.spark.python_source.python_data_source import LakescanDataSource

        return LakescanDataSource(options)
