"""A scan's rows for other libraries: anything that takes Arrow's C stream takes a scan as it is.

pandas, Polars and DuckDB are not Lakescan's dependencies; one that is not installed is named.
"""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakescan.errors import MissingPackage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


class ArrowRows(ABC):
    """What has rows of one schema."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows."""

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, batch by batch, once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow C stream; each call reads them anew."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        _needed("to_pandas()", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        return _needed("to_polars()", "polars").from_arrow(self.to_arrow())

    def to_duckdb(self, connection: "DuckDBPyConnection | None" = None) -> "DuckDBPyRelation":
        """The rows as a relation of DuckDB's, which may be asked more than once."""
        relation: DuckDBPyRelation = (connection or _needed("to_duckdb()", "duckdb")).from_arrow(self.to_arrow())
        return relation


def _needed(what: str, package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(what, package) from error
