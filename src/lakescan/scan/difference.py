"""What is different between two versions of a table: files, rows, bytes, and the schema, all as the logs say.

A file is the same where its path is; where its deletion vector or its log files are others, its rows are.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.scan.packing import total_bytes
from lakescan.scan.pruning import live_rows
from lakescan.scan.snapshot import Snapshot
from lakescan.show.schema import type_text


@dataclass(frozen=True)
class SomeFiles:
    """Files that only one of the versions has, or that both have with other rows."""

    paths: pa.ChunkedArray
    bytes: int
    rows: int | None
    """Live rows, None where some file does not say."""

    @property
    def count(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class Difference:
    """From one version to another."""

    before: Snapshot
    after: Snapshot
    added: SomeFiles
    removed: SomeFiles
    changed: SomeFiles
    """In both, with other deleted rows or log files; as they are in the second version."""
    rows: tuple[int | None, int | None]
    schema: tuple[str, ...]
    """What changed in the schema, the partitioning and the properties, one sentence each."""


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """What happened between two versions, whichever is the older."""
    old, new = before.files(), after.files()
    place = pc.index_in(new["path"].combine_chunks(), value_set=old["path"].combine_chunks())
    both = place.is_valid()
    shared, earlier = new.filter(both), old.take(place.drop_null())
    gone = pc.invert(pc.is_in(old["path"], value_set=new["path"].combine_chunks()))
    return Difference(
        before=before,
        after=after,
        added=_some(after, new.filter(pc.invert(both))),
        removed=_some(before, old.filter(gone)),
        changed=_some(after, shared.filter(pa.array(_differs(earlier, shared)))),
        rows=(_rows(before, old), _rows(after, new)),
        schema=tuple(_schema_changes(before, after)),
    )


def _some(snapshot: Snapshot, files: pa.Table) -> SomeFiles:
    return SomeFiles(files["path"], total_bytes(files["size"].to_numpy()), _rows(snapshot, files))


def _rows(snapshot: Snapshot, files: pa.Table) -> int | None:
    rows = live_rows(snapshot, files)
    return None if rows.null_count else total_bytes(rows.to_numpy())


def _differs(before: pa.Table, after: pa.Table) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    differs = np.zeros(after.num_rows, np.bool_)
    for name in ("deletion_vector", "merged_with"):
        if name in after.schema.names and after.num_rows:
            differs |= _texts(before[name]) != _texts(after[name])
    return differs


def _texts(values: pa.ChunkedArray) -> "np.ndarray[Any, np.dtype[np.object_]]":
    """Each value as one text, to be compared: Arrow compares neither structs nor lists."""
    joined = values.combine_chunks()
    if pa.types.is_struct(joined.type):
        parts = [pc.fill_null(part.cast(pa.string()), "") for part in joined.flatten()]
        texts = pc.binary_join_element_wise(*parts, "\n") if len(parts) > 1 else parts[0]
    else:
        texts = pc.fill_null(pc.binary_join(joined, "\n"), "")
    decoded: np.ndarray[Any, np.dtype[np.object_]] = texts.to_numpy(zero_copy_only=False)
    return decoded


def _schema_changes(before: Snapshot, after: Snapshot) -> Iterator[str]:
    old = {field["name"]: field for field in json.loads(before.schema_json)["fields"]}
    new = {field["name"]: field for field in json.loads(after.schema_json)["fields"]}
    for name in sorted(new.keys() - old.keys()):
        yield f"column {name} added, {type_text(new[name]['type'])}"
    for name in sorted(old.keys() - new.keys()):
        yield f"column {name} gone, {type_text(old[name]['type'])}"
    for name in sorted(old.keys() & new.keys()):
        was, now = type_text(old[name]["type"]), type_text(new[name]["type"])
        if was != now:
            yield f"column {name} was {was} and is {now}"
        if old[name]["nullable"] != new[name]["nullable"]:
            yield f"column {name} {'may' if new[name]['nullable'] else 'must not'} be null"
    if before.partition_columns != after.partition_columns:
        yield (
            f"partitioned by {', '.join(after.partition_columns) or 'nothing'} instead of "
            f"{', '.join(before.partition_columns) or 'nothing'}"
        )
    for key in sorted(before.properties.keys() | after.properties.keys()):
        then, later = before.properties.get(key), after.properties.get(key)
        if then != later:
            yield f"property {key} was {then or 'not set'} and is {later or 'not set'}"
