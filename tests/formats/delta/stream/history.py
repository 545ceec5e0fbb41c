"""Random histories of a Delta table, each beside a plain model of what a stream of it must deliver.

The model keeps rows as Python dicts and knows nothing of Lakescan: for every version which rows are live, which
rows the commit newly brings, and whether the commit is an append, a delete, a change or none of these.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.tables import DeltaBuilder, spark_schema

Row = dict[str, Any]


@dataclass
class ModelVersion:
    """What one commit is to a stream."""

    kind: str  # append, delete, change, none
    new_rows: list[Row]  # of files that are new and hold data that changed
    added_rows: list[Row]  # of every file that the commit adds and that holds data that changed
    live_rows: list[Row]
    columns: list[str]


@dataclass
class File:
    add: dict[str, Any]
    rows: list[Row]
    mapped: bool
    deleted: set[int] = field(default_factory=set)

    @property
    def live(self) -> list[Row]:
        return [row for at, row in enumerate(self.rows) if at not in self.deleted]


class History:
    """A table that grows one random commit at a time."""

    def __init__(
        self,
        root: Path,
        seed: int,
        appends_only: bool = False,
        renames_in_files: bool = False,
        properties: dict[str, str] | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.columns = ["id", "part", "v"]
        self.partitioned = self.random.random() < 0.5
        self.built = DeltaBuilder(
            root,
            self._schema(),
            partition_by=["part"] if self.partitioned else [],
            features=["deletionVectors"],
            properties=properties,
        )
        self.files: list[File] = []
        self.appends_only = appends_only
        self.renames_in_files = renames_in_files
        self.mapped = False
        self._ids = 0
        self.versions: list[ModelVersion] = []
        self._record("none", [], [])

    @property
    def newest(self) -> int:
        return self.built.version

    def grow(self) -> None:
        """One more commit, and perhaps a checkpoint."""
        choices = [self._append, self._append, self._append, self._optimize, self._add_column, self._property]
        choices += [] if self.mapped else [self._map_columns]
        if not self.appends_only:
            choices += [self._delete_by_vector, self._delete_files, self._rewrite, self._update_by_vector]
        self.random.choice(choices)()
        if self.random.random() < 0.15:
            self.built.checkpoint()

    # Commits

    def _append(self) -> None:
        made = [self._file(self._new_rows()) for _ in range(self.random.randint(1, 3))]
        # Empty files and files that are there only in the log are no rows, but positions in the commit.
        self._commit("append", added=made, new=made)

    def _optimize(self) -> None:
        chosen = [file for file in self.files if self.random.random() < 0.6]
        groups: dict[Any, list[File]] = {}
        for file in chosen:
            groups.setdefault(file.rows[0]["part"] if self.partitioned else None, []).append(file)
        made = []
        for group in groups.values():
            rows = [row for file in group for row in file.live]
            if rows:
                made.append(self._file(rows))
        for file in made:
            file.add["add"]["dataChange"] = False
        self._commit("none", added=made, removed=chosen, data_change=False)

    def _delete_by_vector(self) -> None:
        file = self._some_file()
        if file is None:
            return self._append()
        left = [at for at in range(len(file.rows)) if at not in file.deleted]
        gone = file.deleted | set(self.random.sample(left, self.random.randint(1, len(left))))
        return self._commit("delete", added=[self._with_vector(file, gone)], removed=[file])

    def _delete_files(self) -> None:
        chosen = [file for file in self.files if self.random.random() < 0.4]
        if not chosen:
            return self._append()
        return self._commit("delete", removed=chosen)

    def _rewrite(self) -> None:
        """An update or a delete that writes the file anew, in the way of tables without deletion vectors."""
        file = self._some_file()
        if file is None:
            return self._append()
        kept = [row for row in file.live if self.random.random() < 0.7] or file.live[:1]
        made = self._file([self._changed(row) for row in kept])
        return self._commit("change", added=[made], removed=[file], new=[made])

    def _update_by_vector(self) -> None:
        file = self._some_file()
        if file is None:
            return self._append()
        left = [at for at in range(len(file.rows)) if at not in file.deleted]
        hit = self.random.sample(left, self.random.randint(1, len(left)))
        made = self._file([self._changed(file.rows[at]) for at in hit])
        again = self._with_vector(file, file.deleted | set(hit))
        return self._commit("change", added=[again, made], removed=[file], new=[made])

    def _add_column(self) -> None:
        if len(self.columns) > 5:
            return self._append()
        self.columns.append(f"c{len(self.columns)}")
        old = {column["name"]: column for column in self.built.schema["fields"]}
        self.built.schema = spark_schema(self._schema())
        if self.mapped:
            self.built.map_columns(self.built.properties["delta.columnMapping.mode"])
        self.built.schema["fields"] = [old.get(column["name"], column) for column in self.built.schema["fields"]]
        made = [self._file(self._new_rows())] if self.random.random() < 0.5 else []
        return self._commit("append" if made else "none", added=made, new=made, metadata=True)

    def _property(self) -> None:
        self.built.properties = {**self.built.properties, "note": str(self.newest)}
        self._commit("none", metadata=True)

    def _map_columns(self) -> None:
        """Column mapping switched on: columns that are there keep their names in files, as with ALTER TABLE.

        Or, which only reading each commit with its own metadata survives, they get new ones.
        """
        self.mapped = True
        before = {each["name"] for each in self.built.schema["fields"]}
        self.built.map_columns(self.random.choice(["name", "id"]) if self.renames_in_files else "name")
        for column in self.built.schema["fields"]:
            if column["name"] in before and not self.renames_in_files:
                column["metadata"]["delta.columnMapping.physicalName"] = column["name"]
        made = [self._file(self._new_rows())] if self.random.random() < 0.5 else []
        self._commit("append" if made else "none", added=made, new=made, metadata=True, protocol=True)

    # The rest

    def _commit(
        self,
        kind: str,
        added: list[File] | None = None,
        removed: list[File] | None = None,
        new: list[File] | None = None,
        metadata: bool = False,
        protocol: bool = False,
        data_change: bool = True,
    ) -> None:
        actions: list[dict[str, Any]] = [self.built.protocol()] if protocol else []
        actions += [self.built.metadata()] if metadata else []
        body = [file.add for file in added or []]
        for file in removed or []:
            action = self.built.remove(file.add)
            action["remove"]["dataChange"] = data_change
            action["remove"]["partitionValues"] = file.add["add"]["partitionValues"]
            body.append(action)
        self.random.shuffle(body)
        self.built.commit({"commitInfo": {"operation": kind.upper()}}, *actions, *body)
        # What a commit adds comes in the order of its lines; rows are compared without order.
        self.files = [file for file in self.files if not any(file is gone for gone in removed or [])] + (added or [])
        again = [row for file in added or [] for row in file.live] if data_change else []
        self._record(kind, [row for file in new or [] for row in file.rows], again)

    def _record(self, kind: str, new_rows: list[Row], added_rows: list[Row]) -> None:
        live = [row for file in self.files for row in file.live]
        self.versions.append(ModelVersion(kind, new_rows, added_rows, live, list(self.columns)))

    def _some_file(self) -> File | None:
        # A file of before a mapping with new names cannot be added again: its columns would not be found.
        known = [file for file in self.files if file.mapped == self.mapped or not self.renames_in_files]
        candidates = [file for file in known if file.live]
        return self.random.choice(candidates) if candidates else None

    def _with_vector(self, file: File, gone: set[int]) -> File:
        vector = self.built.vector(sorted(gone), self.random.choice("ui"))
        add = {"add": {**file.add["add"], "deletionVector": vector, "dataChange": True}}
        return File(add, file.rows, file.mapped, set(gone))

    def _file(self, rows: list[Row]) -> File:
        stored = [name for name in self.columns if not (self.partitioned and name == "part")]
        columns = {name: pa.array([row.get(name) for row in rows], self._schema().field(name).type) for name in stored}
        partition = {"part": str(rows[0]["part"])} if self.partitioned else None
        return File(self.built.add(pa.table(columns), partition=partition, stats=False), rows, self.mapped)

    def _new_rows(self) -> list[Row]:
        part = self.random.randint(0, 2)
        made = []
        for _ in range(self.random.randint(1, 4)):
            self._ids += 1
            row: Row = {"id": self._ids, "part": part, "v": f"value {self._ids}"}
            made.append(row | dict.fromkeys(self.columns[3:], self._ids * 10))
        return made

    def _changed(self, row: Row) -> Row:
        return {**row, "v": f"{row['v']} changed at {self.newest + 1}"}

    def _schema(self) -> pa.Schema:
        fields = [pa.field("id", pa.int64()), pa.field("part", pa.int32()), pa.field("v", pa.string())]
        return pa.schema(fields + [pa.field(name, pa.int64()) for name in self.columns[3:]])
