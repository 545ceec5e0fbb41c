"""Whether files written under metadata that is lost can be read with the metadata that is known.

Each file speaks for itself: its partition values and its Parquet schema must be what the known metadata expects.
A column that the metadata does not name, a missing field id, another partition column or a type that does not
widen is a reason to refuse, because reading on could give a null or a value of another column for a real one.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import RelaxedStartRefused
from lakescan.formats.delta.changes.schema_changes import children, same_nesting
from lakescan.formats.delta.log.commit_range import TableCommit
from lakescan.formats.delta.type_widening import widens
from lakescan.io.storage import Storage
from lakescan.reader.file_checks import named_damage
from lakescan.types.schema import FIELD_ID


def refuse_misreading(commit: TableCommit, start: int) -> None:
    """An error unless every file that the commit adds is one that its (assumed) metadata describes."""
    location = commit.storage.location
    expected = set(commit.metadata.physical_partition_names)
    for action in commit.text.actions("add"):
        file = commit.data_files.path(action)
        names = set(action.get("partitionValues") or {})
        if names != expected:
            reason = f"{file} of version {commit.version} has {_named(names)} and the newer metadata {_named(expected)}"
            raise RelaxedStartRefused(location, start, f"a partition column changed: {reason}.")
        difference = _difference(_schema_of(commit.storage, file), list(commit.metadata.physical_schema), "")
        if difference:
            raise RelaxedStartRefused(location, start, f"in {file} of version {commit.version} {difference}.")


def _named(columns: set[str]) -> str:
    return f"the partition columns {', '.join(sorted(columns))}" if columns else "no partition columns"


def _schema_of(storage: Storage, file: str) -> pa.Schema:
    with named_damage(storage.full_path(file)):
        return pq.read_schema(storage.open(file))


def _difference(stored: Sequence[pa.Field], expected: Sequence[pa.Field], path: str) -> str | None:
    """Why these fields of a file are not those of the metadata, None where they are."""
    by_id = any((field.metadata or {}).get(FIELD_ID) for field in expected)
    known = {_key(field, by_id): field for field in expected}
    for field in stored:
        wanted = known.get(_key(field, by_id))
        if wanted is None:
            by = "the field id of " if by_id else ""
            return (
                f"{by}the column {path}{field.name} is not one of the newer metadata's: the column mapping mode or a "
                "physical name differs"
            )
        inside = _type_difference(field, wanted, f"{path}{field.name}")
        if inside:
            return inside
    return None


def _key(field: pa.Field, by_id: bool) -> object:
    return (field.metadata or {}).get(FIELD_ID) if by_id else field.name.lower()


def _type_difference(stored: pa.Field, wanted: pa.Field, path: str) -> str | None:
    if pa.types.is_struct(stored.type) and pa.types.is_struct(wanted.type):
        return _difference(list(stored.type), list(wanted.type), f"{path}.")
    if same_nesting(stored.type, wanted.type):
        pairs = zip(children(stored.type), children(wanted.type), strict=True)
        return next(filter(None, (_type_difference(one, other, f"{path}.{other.name}") for one, other in pairs)), None)
    if _same_value(stored.type, wanted.type) or widens(stored.type, wanted.type):
        return None
    return (
        f"the column {path} is {stored.type} and the newer metadata's {wanted.type}: its type changed, not by widening"
    )


def _same_value(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether the types differ at most in how Parquet stores them."""
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(wanted):
        return stored.unit == "ns" or (stored.tz is None) == (wanted.tz is None)
    return bool(
        stored.equals(wanted) or (pa.types.is_binary(stored) and pa.types.is_string(wanted)) or pa.types.is_null(stored)
    )
