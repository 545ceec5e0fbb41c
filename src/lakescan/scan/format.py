"""What a table format is to the rest of Lakescan: one value, which the format's folder exports as `FORMAT`.

It says how a folder is recognised and opened, which options its reads take and what they ask for, how a table is read
as a stream, and which catalog of the format's own a Spark session may have. `formats/registry.py` lists the values;
nothing else knows a format by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from lakescan.io.storage import Storage
from lakescan.options import Options
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.stream.stream import PinnedStream

T = TypeVar("T", bound=Table)
S = TypeVar("S", bound=Snapshot)


@dataclass(frozen=True)
class OwnCatalog:
    """The catalog that a format's own engine brings to Spark: where a session has it, the format's name stays its."""

    java_class: str
    serves_paths: bool = False
    """Whether it takes a path for a name, so that statements which write can be left to it."""
    switch: str | None = None
    """A Spark setting of the format's by which a session says whether another reader reads its tables."""
    packages: tuple[str, ...] = ()
    """The engine's Java packages: what these read by the format's name is theirs, whoever claims the name."""


@dataclass(frozen=True)
class Format(Generic[T, S]):
    """What is asked of a format before and beside its tables."""

    name: str
    """The catalog of its paths in SQL, and what its tables and snapshots say that they are."""
    title: str
    """What documentation calls it."""
    sign: str
    """What a table's folder holds, as an error says it of a folder that does not."""
    detect: Callable[[Storage], bool]
    open: Callable[[Storage, str], T]
    """The table at a location for which `detect` is true, with the zone of times that name none."""
    options: Options
    asked_of: Callable[[T, Mapping[str, str], Callable[[], S]], S]
    """What a batch with some options reads; the last argument gives the version where they ask for none."""
    range_asked: Callable[[Mapping[str, str]], str | None]
    """The option by which a batch asks for a range of versions, None where it asks for one."""
    pinned: Callable[[S, Mapping[str, str]], dict[str, str]]
    """The options that ask for just what a snapshot is that was read with some, now and later."""
    pin_stream: Callable[[T, Mapping[str, str], S | None], PinnedStream] | None = None
    """The table as a stream with some options, in the schema of a version where one is given; None where it cannot be
    read as one."""
    has_log: Callable[[Storage], bool] | None = None
    """Whether there is more behind the sign than its folder, which may be a partition of a table of another format."""
    own_catalog: OwnCatalog | None = None
    detail: Callable[[T, Any], Mapping[str, Any]] | None = None
    """What `scan.detail.SCHEMA` has columns for and only the format knows; None where that is nothing."""


AnyFormat: TypeAlias = Format[Any, Any]
