"""What every file action must have, whoever holds it: a commit, a checkpoint, a change.

An action that lacks something is never passed over, because its file's rows would be missing, or back, without a word.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.types.columns import member

_STORED = ("u", "p", "i")
_NEEDED_OF_VECTOR = ("storageType", "pathOrInlineDv", "sizeInBytes", "cardinality")


def broken_action(kind: str, actions: pa.Array | pa.ChunkedArray) -> str | None:
    """What is wrong with some of these actions (structs, null where a line is another action), None where nothing."""
    called = f"{'an' if kind == 'add' else 'a'} {kind} action"
    path, size = member(actions, "path"), member(actions, "size")
    if path.null_count != actions.null_count or _any(pc.equal(path, "")):
        return f"it has {called} without a path"
    if kind == "add" and size.null_count != actions.null_count:
        return f"it has {called} without a size"
    if size is not None and _any(pc.less(size, 0)):
        return f"it has {called} with a negative size"
    partition = member(actions, "partitionValues")
    if partition is not None and kind != "remove" and partition.null_count != actions.null_count:
        return f"it has {called} without partitionValues"
    vector = member(actions, "deletionVector")
    return None if vector is None else broken_vector(vector, called)


def broken_vector(vector: pa.Array | pa.ChunkedArray, called: str) -> str | None:
    """What is wrong with a deletion vector's description among these, if anything is."""
    if vector.null_count == len(vector):
        return None
    for name in _NEEDED_OF_VECTOR:
        if member(vector, name).null_count != vector.null_count:
            return f"it has {called} whose deletion vector has no {name}"
    if _any(pc.invert(pc.is_in(member(vector, "storageType").drop_null(), value_set=pa.array(_STORED)))):
        return f"it has {called} whose deletion vector is stored in none of the ways u, p and i"
    for name in ("sizeInBytes", "cardinality", "offset"):
        if _any(pc.less(member(vector, name), 0)):
            return f"it has {called} whose deletion vector has a negative {name}"
    return None


def repeated(keys: pa.Array | pa.ChunkedArray) -> str | None:
    """The first of the keys that stand there more than once."""
    keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    encoded = keys.dictionary_encode()
    if len(encoded.dictionary) == len(keys):
        return None
    counts = np.bincount(encoded.indices.to_numpy(), minlength=len(encoded.dictionary))
    first = encoded.dictionary[int(np.argmax(counts > 1))].as_py()
    return _shown(first)


def repeated_file(files: pa.Table) -> str | None:
    """The path of a file that is listed twice, with whichever deletion vectors.

    Only files of the same size and time are compared: they are few, and comparing all paths takes as long as reading
    them.
    """
    if files.num_rows < 2:
        return None
    mixed = marks(files["size"], files["modification_time"])
    order = np.argsort(mixed)
    same = np.flatnonzero(np.diff(mixed[order]) == 0)
    if not len(same):
        return None
    suspects = np.unique(np.concatenate([order[same], order[same + 1]]))
    return repeated(files["path"].take(pa.array(suspects)))


def marks(size: pa.Array | pa.ChunkedArray, time: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """A number for each file by its size and time: what has another is another file."""
    known = [pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.uint64) for column in (size, time)]
    # Wraps around, which is as good.
    mixed: npt.NDArray[np.uint64] = known[0] * np.uint64(0x9E3779B97F4A7C15) + known[1]
    return mixed


def broken_text(columns: Sequence[pa.Array | pa.ChunkedArray]) -> bool:
    """Whether some text is no UTF-8: neither of Arrow's readers looks."""
    try:
        for column in columns:
            column.validate(full=True)
    except pa.ArrowInvalid:
        return True
    return False


def _shown(key: bytes | str) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else key


def _any(flags: pa.Array | pa.ChunkedArray) -> bool:
    return bool(pc.any(flags).as_py())
