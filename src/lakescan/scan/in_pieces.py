"""A plan made in pieces: each piece of a large log is listed, filtered and aggregated by itself, mostly on an executor.

Only what survives reaches this process: partial rows of an aggregation, the few files that fill a limit, files that a
filter keeps. The pieces are planned by the very functions that plan a whole table, so the answer is the same. Where a
piece fails nothing is given, and whoever plans the whole table tells what is wrong or does without.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptLog, LakescanError
from lakescan.predicate import TRUE
from lakescan.reader.aggregate import merge
from lakescan.reader.aggregation import Aggregation
from lakescan.scan.aggregates import answer, by_distinct_values, known_by_metadata
from lakescan.scan.divided import Divided, Pieces
from lakescan.scan.executors import Executors, ThisProcess
from lakescan.scan.kept_columns import KEPT
from lakescan.scan.limit import after_offset, fewest, filled_by_the_newest
from lakescan.scan.pruning import PlannedFiles, plan_files
from lakescan.scan.report import STEPS, TABLE, Step
from lakescan.scan.spec import ScanSpec
from lakescan.scan.top_n import keep_top_n

# Without executors, of more files than that an aggregation is made piece by piece: a list of all takes much memory.
MANY_FILES = 4_000_000
# No more files than that are sent here by executors, all pieces together; of a piece with more this process lists them.
_MOST_FILES = 1_000_000
_FEW_FILES = 1_000


@dataclass(frozen=True)
class _Answer:
    """What is left of a piece. It travels, so its tables are Arrow streams, compressed."""

    steps: tuple[Step, ...]
    files: bytes | None
    """None where they are too many to be sent."""
    ready: bytes | None
    """Partial rows of an aggregation."""


def planned_in_pieces(spec: ScanSpec) -> tuple[PlannedFiles, pa.Table | None] | None:
    """The files to read and, of an aggregation, what metadata knows; None where the table is to be planned whole."""
    began = time.perf_counter()
    executors, at_least = _who(spec)
    if executors is None:
        return None
    limit = _limit(spec)
    if limit is not None:
        newest = filled_by_the_newest(spec.snapshot, spec.may_match, limit, spec.settings, spec.sample)
        if newest is not None:
            return newest, None
    try:
        divided = spec.snapshot.divided(at_least, executors)
        return None if divided is None else _planned(spec, divided, executors, began)
    except CorruptLog:
        # Whoever lists all files is told, or gets them in another way.
        return None


def _who(spec: ScanSpec) -> tuple[Executors | None, int]:
    """Who plans the pieces of a table of at least how many files."""
    everything = spec.may_match == TRUE
    if spec.executors is not None:
        # Where nothing is left out all files have to come here.
        others = (spec.sample, spec.limit, spec.top, spec.aggregation)
        fewer = not everything or any(other is not None for other in others)
        return (spec.executors if fewer else None), spec.settings.distributed_files
    counted = spec.aggregation is not None and everything and spec.settings.aggregates
    return (ThisProcess() if counted else None), MANY_FILES


def _limit(spec: ScanSpec) -> int | None:
    """The limit, where files are chosen by it."""
    alone = not spec.offset and spec.top is None and spec.aggregation is None
    return spec.limit if alone else None


def _planned(
    spec: ScanSpec, divided: Divided, executors: Executors, began: float
) -> tuple[PlannedFiles, pa.Table | None] | None:
    elsewhere = divided.elsewhere
    asked = {each.name: getattr(spec, each.name) for each in fields(spec) if each.name not in ("snapshot", "executors")}
    most = max(_FEW_FILES, _MOST_FILES // max(1, len(elsewhere)))
    given = executors.run(partial(_of_piece, asked, elsewhere, most), range(len(elsewhere)))
    answers = [_packed(*_plan_piece(replace(spec, snapshot=piece)), None) for piece in divided.here]
    for at, one in enumerate(given):
        if isinstance(one, LakescanError):
            return None
        too_many = one.files is None
        answers.append(_packed(*_plan_piece(replace(spec, snapshot=elsewhere[at])), None) if too_many else one)
    files = pa.concat_tables([_unpacked(one.files) for one in answers if one.files is not None])
    steps = _merged([one.steps for one in answers], divided)
    planned = PlannedFiles(divided.together(files), files, steps, 0.0)
    ready = None
    if spec.aggregation is not None:
        parts = [_unpacked(one.ready) for one in answers if one.ready is not None]
        planned, ready = _answered(spec, spec.aggregation, planned, pa.concat_tables(parts))
    planned = _chosen(spec, planned)
    return replace(planned, planning_ms=(time.perf_counter() - began) * 1000), ready


def _answered(
    spec: ScanSpec, how: Aggregation, planned: PlannedFiles, parts: pa.Table
) -> tuple[PlannedFiles, pa.Table]:
    """What all pieces know; a file that one of them has to read may be beaten by a file of another."""
    rows = merge(parts, by_distinct_values(how))
    if planned.files.num_rows and rows.num_rows:
        more, unknown = known_by_metadata(spec, how, planned, rows)
        rows, planned = merge(pa.concat_tables([rows, more]), by_distinct_values(how)), _once(unknown)
    return planned, answer(rows, how, spec.snapshot.schema)


def _chosen(spec: ScanSpec, planned: PlannedFiles) -> PlannedFiles:
    """What is left of the files of all pieces together, for a limit, an offset or a top-n."""
    limit = _limit(spec)
    if limit is not None:
        return _once(fewest(planned, spec.may_match, limit) or planned)
    if spec.offset:
        return after_offset(planned, spec.offset)
    return planned if spec.top is None else _once(keep_top_n(planned, spec.may_match, spec.top))


def _once(planned: PlannedFiles) -> PlannedFiles:
    """A last step that the pieces took and all of them together now, as one."""
    *before, pieces, last = planned.steps
    return replace(planned, steps=(*before, last)) if pieces.name == last.name else planned


def _of_piece(asked: dict[str, Any], pieces: Pieces, most: int, at: int) -> "_Answer | LakescanError":
    KEPT.bound(asked["settings"].kept_bytes)
    try:
        return _packed(*_plan_piece(ScanSpec(snapshot=pieces[at], **asked)), most)
    except LakescanError as error:
        # As a value: a task that fails is tried again, and tells a page of stack.
        return error


def _plan_piece(spec: ScanSpec) -> tuple[PlannedFiles, pa.Table | None]:
    planned = plan_files(spec.snapshot, spec.may_match, spec.settings, sample=spec.sample)
    if spec.aggregation is not None:
        ready, unknown = known_by_metadata(spec, spec.aggregation, planned)
        return unknown, ready
    limit = _limit(spec)
    if limit is not None:
        filled = fewest(planned, spec.may_match, limit)
        return filled or planned.then("limit", planned.files, time.perf_counter()), None
    return (planned if spec.top is None else keep_top_n(planned, spec.may_match, spec.top)), None


def _packed(planned: PlannedFiles, ready: pa.Table | None, most: int | None) -> _Answer:
    fits = most is None or planned.files.num_rows <= most
    steps = tuple(replace(step, numbers=None) for step in planned.steps)
    return _Answer(steps, _stream(planned.files) if fits else None, None if ready is None else _stream(ready))


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _unpacked(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()


def _merged(pieces: Sequence[tuple[Step, ...]], divided: Divided) -> tuple[Step, ...]:
    """The steps of all pieces together. A piece that has not taken a step kept what it had."""
    names = {step.name for steps in pieces for step in steps} - {TABLE}
    order = sorted(names, key=STEPS.index)
    sums = dict.fromkeys(order, (0, 0))
    for steps in pieces:
        known = {step.name: step for step in steps}
        last = steps[0]
        for name in order:
            last = known.get(name, last)
            files, size = sums[name]
            sums[name] = files + last.files, size + last.bytes
    whole = Step(TABLE, divided.files, divided.bytes)
    return (whole, *(Step(name, files, size) for name, (files, size) in sums.items()))
