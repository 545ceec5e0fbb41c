"""Copy-on-write tables of table version 6, written by hand: base files, commits that name them, and the properties.

Hudi has no writer in Python. This one makes what a stream or a planner must meet: commits one after another, writes
under way, commits that were archived, rolled back or whose files were cleaned away.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
_AVRO: dict[pa.DataType, Any] = {
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.string(): "string",
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}
_PROPERTIES = {
    "hoodie.table.name": "made",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "6",
    "hoodie.timeline.layout.version": "1",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.table.base.file.format": "PARQUET",
}


@dataclass
class HudiBuilder:
    """A table whose file groups are told apart by a number and keep what each commit wrote of them."""

    path: Path
    properties: Mapping[str, str] = field(default_factory=dict)
    _now: int = 20240101000000000
    groups: dict[int, tuple[str, pa.Table]] = field(default_factory=dict)
    folders: Mapping[int, str] = field(default_factory=dict)
    """Where groups are that are in the folder of a partition."""

    def __post_init__(self) -> None:
        (self.path / ".hoodie").mkdir(parents=True)
        text = "\n".join(f"{key}={value}" for key, value in {**_PROPERTIES, **self.properties}.items())
        (self.path / ".hoodie" / "hoodie.properties").write_text(text + "\n")
        (self.path / ".hoodie_partition_metadata").write_text("commitTime=0\npartitionDepth=0\n")

    def next_instant(self) -> str:
        self._now += 1000
        return str(self._now)

    def upsert(self, group: int, rows: pa.Table, instant: str | None = None) -> str:
        """New rows and rows in place of those with the same id, in one file group; gives the instant."""
        instant = instant or self.next_instant()
        made = _with_meta(rows, instant, f"group-{group}-0_0-0-0_{instant}.parquet")
        if group in self.groups:
            kept = self.groups[group][1]
            gone = pc.is_in(kept["id"], rows["id"])
            made = pa.concat_tables([kept.filter(pc.invert(gone)), made], promote_options="default")
        return self._commit(instant, {group: made}, rows.schema)

    def delete(self, group: int, ids: Iterable[int]) -> str:
        instant = self.next_instant()
        kept = self.groups[group][1]
        gone = pc.is_in(kept["id"], pa.array(list(ids), pa.int64()))
        left = kept.filter(pc.invert(gone))
        return self._commit(instant, {group: left}, left.drop_columns(list(META)).schema)

    def replace(self, group: int, other: int, rows: pa.Table) -> str:
        """One file group in place of another, as an overwrite does."""
        instant = self.next_instant()
        made = _with_meta(rows, instant, f"group-{other}-0_0-0-0_{instant}.parquet")
        self._commit(instant, {other: made}, rows.schema, {"": [f"group-{group}-0"]})
        del self.groups[group]
        return instant

    def plan_clustering(self) -> str:
        """A clustering under way, as tables of version 8 and later write it."""
        instant = self.next_instant()
        (self.path / ".hoodie" / f"{instant}.clustering.requested").touch()
        return instant

    def cluster(self, groups: Sequence[int], other: int, instant: str) -> None:
        """One file group in place of others, with their rows as they are."""
        rows = pa.concat_tables([self.groups.pop(group)[1] for group in groups])
        replaced = {"": [f"group-{group}-0" for group in groups]}
        self._commit(instant, {other: rows}, rows.drop_columns(list(META)).schema, replaced, "CLUSTER")

    def begin(self) -> str:
        """A commit under way."""
        instant = self.next_instant()
        (self.path / ".hoodie" / f"{instant}.commit.requested").touch()
        (self.path / ".hoodie" / f"{instant}.inflight").touch()
        return instant

    def roll_back(self, instant: str) -> None:
        for file in (self.path / ".hoodie").glob(f"{instant}.*"):
            file.unlink()
        for file in self.path.glob(f"*_{instant}.parquet"):
            file.unlink()

    def archive(self, instant: str) -> None:
        """The commit leaves the active timeline; its files stay."""
        folder = self.path / ".hoodie" / "archived"
        folder.mkdir(exist_ok=True)
        (folder / ".commits_.archive.1_1-0-1").touch()
        (self.path / ".hoodie" / f"{instant}.commit").unlink()

    def clean(self, group: int, instant: str) -> None:
        """The file that a commit wrote is removed."""
        (self.path / f"group-{group}-0_0-0-0_{instant}.parquet").unlink()

    def _commit(
        self,
        instant: str,
        groups: Mapping[int, pa.Table],
        schema: pa.Schema,
        replaced: Mapping[str, list[str]] | None = None,
        operation: str = "INSERT_OVERWRITE",
    ) -> str:
        stats: dict[str, list[dict[str, Any]]] = {}
        for group, rows in groups.items():
            folder = self.folders.get(group, "")
            name = f"{folder}/group-{group}-0_0-0-0_{instant}.parquet".lstrip("/")
            (self.path / folder).mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, self.path / name)
            before = self.groups[group][0] if group in self.groups else "null"
            size = (self.path / name).stat().st_size
            known = {"fileId": f"group-{group}-0", "path": name, "prevCommit": before, "numWrites": rows.num_rows}
            stats.setdefault(folder, []).append({**known, "fileSizeInBytes": size, "totalWriteBytes": size})
            self.groups[group] = (instant, rows)
        avro = json.dumps(_record(schema, "made"))
        commit = {"partitionToWriteStats": stats, "extraMetadata": {"schema": avro}, "operationType": "UPSERT"}
        if replaced:
            commit |= {"partitionToReplaceFileIds": replaced, "operationType": operation}
            (self.path / ".hoodie" / f"{instant}.replacecommit.requested").touch()
            (self.path / ".hoodie" / f"{instant}.replacecommit.inflight").touch()
        action = "replacecommit" if replaced else "commit"
        (self.path / ".hoodie" / f"{instant}.{action}").write_text(json.dumps(commit))
        return instant


def _record(fields: Iterable[pa.Field], name: str) -> dict[str, Any]:
    given = [{"name": field.name, "type": ["null", _avro(field.type, f"{name}_{field.name}")]} for field in fields]
    return {"type": "record", "name": name, "fields": given}


def _avro(kind: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(kind):
        return _record(kind, name)
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _avro(kind.value_type, name)]}
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _avro(kind.item_type, name)]}
    return _AVRO[kind]


def _with_meta(rows: pa.Table, instant: str, file: str) -> pa.Table:
    count = rows.num_rows
    own = [
        pa.array([instant] * count, pa.string()),
        pa.array([f"{instant}_0_{at}" for at in range(count)], pa.string()),
        rows["id"].cast(pa.string()),
        pa.array([""] * count, pa.string()),
        pa.array([file] * count, pa.string()),
    ]
    return pa.table([*own, *rows.columns], names=[*META, *rows.column_names])
