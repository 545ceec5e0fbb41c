"""From what is asked to what will be read: the one way from a `ScanSpec` to a `Plan`.

Files are pruned, of a sample only its own are taken, then they are chosen for a limit, an offset, a top-n or an
aggregation. A step only ever drops files that cannot change the answer.
"""

from dataclasses import replace

import pyarrow as pa

from lakescan.predicate import TRUE, Predicate, bind, columns_of, conjoin, parse, split_by_columns
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.read_plan import ReadPlan
from lakescan.scan.aggregates import answer, answered_by_metadata, by_distinct_values
from lakescan.scan.attempts import attempt, failures
from lakescan.scan.in_pieces import planned_in_pieces
from lakescan.scan.kept_answers import ANSWERS
from lakescan.scan.kept_columns import KEPT
from lakescan.scan.limit import after_offset, plan_limit
from lakescan.scan.plan import Plan
from lakescan.scan.pruning import PlannedFiles, plan_files
from lakescan.scan.runtime_filter import narrowed
from lakescan.scan.spec import ScanSpec
from lakescan.scan.top_n import keep_top_n
from lakescan.types.schema import field_at, leaf_paths, physical_part, prune


def plan(spec: ScanSpec) -> Plan:
    """What will be read, and what metadata has answered."""
    KEPT.bound(spec.settings.kept_bytes)
    with failures([]) as failed:
        made = _made(spec) if spec.aggregation is None else _answered_before(spec) or _made(spec)
        if made.ready is not None and not failed:
            ANSWERS.put(made)
        return replace(made, failed=tuple(failed))


def _answered_before(spec: ScanSpec) -> Plan | None:
    kept = ANSWERS.get(spec)
    return None if kept is None else Plan(spec, kept.planned(spec.snapshot), read_plan(spec), kept.rows)


def _made(spec: ScanSpec) -> Plan:
    read = read_plan(spec)
    in_pieces = attempt("planning in pieces", lambda: planned_in_pieces(spec), lambda: None)
    if in_pieces is not None:
        return Plan(spec, in_pieces[0], read, in_pieces[1])
    how = spec.aggregation
    if how is None:
        return Plan(spec, _planned(spec), read)
    counted = attempt("counts without paths", lambda: _counted(spec, how), lambda: None)
    if counted is not None:
        return Plan(spec, counted[1], read, counted[0])
    planned, schema = _planned(spec), spec.snapshot.schema
    ready, unknown = attempt(
        "aggregates from metadata",
        lambda: answered_by_metadata(spec, how, planned),
        lambda: (answer(by_distinct_values(how).output(schema).empty_table(), how, schema), planned),
    )
    return Plan(spec, unknown, read, ready)


def _counted(spec: ScanSpec, how: Aggregation) -> tuple[pa.Table, PlannedFiles] | None:
    """What metadata answers without the paths of files; None where it does not know all, or knows paths as soon."""
    if how.needs_rows or spec.may_match != TRUE or not spec.settings.aggregates:
        return None
    if spec.limit is not None or spec.offset or spec.sample is not None:
        return None
    columns = [*how.keys, *(one.column for one in how.aggregates if one.column is not None)]
    by_partition = any(column.path[0] in spec.snapshot.partition_columns for column in columns)
    unnamed = spec.snapshot.without_paths(by_partition)
    if unnamed is None:
        return None
    ready, unknown = answered_by_metadata(spec, how, plan_files(unnamed, TRUE, spec.settings))
    # Whatever has to be read has to be named.
    return None if unknown.files.num_rows else (ready, replace(unknown, snapshot=spec.snapshot))


def at_run_time(made: Plan, predicate: Predicate | str) -> Plan:
    """The plan without the files that, by values found at run time, have no row that is wanted."""
    spec = made.spec
    bound = bind(parse(predicate) if isinstance(predicate, str) else predicate, spec.snapshot.schema)
    with failures(list(made.failed)) as failed:
        planned = attempt(
            "runtime filters",
            lambda: narrowed(made.planned, bound, spec.settings.skipping),
            lambda: made.planned,
        )
    runtime = conjoin([spec.runtime, bound])
    return replace(made, spec=replace(spec, runtime=runtime), planned=planned, failed=tuple(failed))


def _planned(spec: ScanSpec) -> PlannedFiles:
    def every_file() -> PlannedFiles:
        return plan_files(spec.snapshot, spec.may_match, spec.settings, sample=spec.sample)

    limit, top = spec.limit, spec.top
    if limit is not None and not spec.offset and top is None:
        return attempt(
            "limit",
            lambda: plan_limit(spec.snapshot, spec.may_match, limit, spec.settings, spec.sample),
            every_file,
        )
    planned = every_file()
    if spec.offset:
        return after_offset(planned, spec.offset)
    if top is None:
        return planned
    return attempt("top-n", lambda: keep_top_n(planned, spec.may_match, top), lambda: planned)


def read_plan(spec: ScanSpec) -> ReadPlan:
    """What every task is read with."""
    snapshot = spec.snapshot
    residual, unclaimed = (
        split_by_columns(predicate, snapshot.partition_columns)[1] for predicate in (spec.filter, spec.unclaimed)
    )
    both = conjoin([residual, unclaimed])
    schema = _with_filter_columns(spec, both)
    hidden, computed = snapshot.hidden_columns, snapshot.computed_columns
    return ReadPlan(
        files=snapshot.data_files,
        output=spec.output,
        schema=schema,
        source=physical_part(
            schema, pa.schema([*snapshot.schema, *hidden]), pa.schema([*snapshot.physical_schema, *hidden])
        ),
        partition_columns=frozenset(snapshot.partition_columns),
        filter=residual,
        unclaimed=unclaimed,
        skip=_skipped_row_groups(spec, both),
        limit=spec.limit,
        top=spec.top,
        aggregation=spec.aggregation,
        computed={name: column for name, column in computed.items() if name in schema.names},
    )


def _with_filter_columns(spec: ScanSpec, residual: Predicate) -> pa.Schema:
    """The output and what the filter needs besides: further columns, and further fields of structs."""
    lacking = {column.path for column in columns_of(residual) if field_at(spec.output, column.path) is None}
    table = pa.schema([*spec.snapshot.schema, *spec.snapshot.hidden_columns])
    wider, _ = prune(table, table, lacking | leaf_paths(spec.output))
    names = {path[0] for path in lacking}
    given = [wider.field(field.name) if field.name in names else field for field in spec.output]
    return pa.schema(given + [wider.field(name) for name in sorted(names - set(spec.output.names))])


def _skipped_row_groups(spec: ScanSpec, residual: Predicate) -> Predicate:
    if not spec.settings.row_groups:
        return TRUE
    return split_by_columns(conjoin([residual, spec.skip]), spec.snapshot.partition_columns)[1]
