"""Tasks each of which has rows of one value of the partition columns, so that whoever joins by them need not shuffle.

Every byte of every file is in exactly one task, as with `packing`. Two files have one key exactly where Spark takes the
values of their rows for equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.scan.packing import PackedTasks, packed
from lakescan.types.columns import member

# More keys would be more tasks than a plan without shuffles is worth.
MOST_KEYS = 4096


@dataclass(frozen=True)
class KeyedTasks:
    """Tasks, and for each of them which row of `keys` its rows have."""

    keys: pa.Table
    tasks: PackedTasks
    key_of_task: tuple[int, ...]


def is_key(type_: pa.DataType) -> bool:
    """Whether values of the type are equal for Spark exactly where they are for Arrow; -0.0 and NaN are not."""
    exact = (
        pa.types.is_boolean,
        pa.types.is_signed_integer,
        pa.types.is_string,
        pa.types.is_date,
        pa.types.is_timestamp,
        pa.types.is_decimal,
    )
    return any(of_that_kind(type_) for of_that_kind in exact)


def keys_of(files: pa.Table, names: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """The different values of these partition columns, and for each file which of them it has."""
    partition = files["partition"].combine_chunks()
    columns = [member(partition, name) for name in names]
    codes = [pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy() for column in columns]
    _, first, group = np.unique(np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True)
    values = pa.table(columns, names=list(names))
    return values.take(pa.array(first)), pa.array(group.reshape(-1))


def tasks_by_key(files: pa.Table, names: Sequence[str], besides: Sequence[str]) -> KeyedTasks:
    """Files packed into tasks, key by key; `besides` as for `pack`."""
    keys, group = keys_of(files, names)
    order = np.argsort(group.to_numpy(), kind="stable")
    files, group = files.take(pa.array(order)), group.take(pa.array(order)).to_numpy()
    edges = [*np.flatnonzero(np.diff(group, prepend=-1)).tolist(), len(group)]
    made = [packed(files.slice(begin, end - begin), 1, besides=besides) for begin, end in pairwise(edges)]
    before = np.cumsum([0, *(tasks.pieces.num_rows for tasks in made[:-1])])
    begins = [tasks.begins + others for tasks, others in zip(made, before, strict=True)]
    pieces = pa.concat_tables([tasks.pieces for tasks in made]).combine_chunks()
    key_of_task = np.repeat(group[edges[:-1]], [len(tasks) for tasks in made])
    return KeyedTasks(keys, PackedTasks(pieces, np.concatenate(begins)), tuple(key_of_task.tolist()))
