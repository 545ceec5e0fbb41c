"""An aggregation, answered by metadata where that is exact; the workers aggregate what is left.

Each row of the table is in exactly one partial row's account, so merging them gives the answer. An aggregation
without keys always has a partial row, even where there is no file at all. Counts of distinct values have no partial
rows: the aggregation is made by those values too, and then each group's values are counted.
"""

import time
from collections.abc import Collection
from math import isfinite

import numpy as np
import pyarrow as pa

from lakescan.predicate import Call, Column, columns_in
from lakescan.reader.aggregate import MOST_GROUPS, can_aggregate, can_group, identity, merge
from lakescan.reader.aggregation import Aggregation, column_type, value_type
from lakescan.reader.decimal_arithmetic import largest
from lakescan.reader.groups import group_codes
from lakescan.scan.estimates import largest_values, most_values, sums_stay_below
from lakescan.scan.metadata_aggregates import FromMetadata, from_metadata
from lakescan.scan.plan import Plan
from lakescan.scan.pruning import PlannedFiles
from lakescan.scan.spec import ScanSpec

_EXACT_DOUBLES = 2**53


def answered_by_metadata(spec: ScanSpec, how: Aggregation, planned: PlannedFiles) -> tuple[pa.Table, PlannedFiles]:
    """What metadata knows, merged, and the files that it does not know enough of."""
    rows, unknown = known_by_metadata(spec, how, planned)
    return answer(rows, how, spec.snapshot.schema), unknown


def known_by_metadata(
    spec: ScanSpec, how: Aggregation, planned: PlannedFiles, others: pa.Table | None = None
) -> tuple[pa.Table, PlannedFiles]:
    """The same as rows of `by_distinct_values(how)` that can be merged with those of other files, as `others` are."""
    began = time.perf_counter()
    by_values = by_distinct_values(how)
    known = _known(spec, by_values, planned, others)
    return merge(known.rows, by_values), planned.then("metadata", known.unknown, began)


def answer(rows: pa.Table, how: Aggregation, schema: pa.Schema) -> pa.Table:
    """What all rows of `by_distinct_values(how)` come to."""
    output = how.output(schema)
    if how.is_one_row:
        return identity(how, output)
    if by_distinct_values(how) != how:
        rows = count_distinct_values(rows, how, output)
    return rows if how.keys else merge(pa.concat_tables([identity(how, output), rows]), how)


def can_read(plan: Plan) -> bool:
    """Whether what metadata does not know can be computed in the workers, exactly as Spark would."""
    how, schema = plan.spec.aggregation, plan.spec.snapshot.schema
    if how is None:
        return False
    functions = [function for function in how.aggregates if function.value is not None]
    return (
        plan.spec.settings.partial_aggregates
        and all(can_group(column_type(key, schema)) for key in how.keys)
        and all(can_aggregate(function, value_type(function.value, schema)) for function in functions)
        and all(map(isfinite, _largest(plan, how)))
    )


def has_many_groups(plan: Plan) -> bool:
    """Whether the bounds of the keys leave room for so many groups that aggregating in the workers gains nothing."""
    how, planned = plan.spec.aggregation, plan.planned
    if how is None or not how.keys:
        return False
    return most_values(planned.snapshot, planned.files, how.keys) > MOST_GROUPS


def _largest(plan: Plan, how: Aggregation) -> list[float]:
    """For each expression what its values do not exceed, infinite where one may not fit into its type."""
    snapshot, files = plan.planned.snapshot, plan.planned.files
    expressions = [one.value for one in how.aggregates if isinstance(one.value, Call)]
    if not expressions:
        return []
    columns = frozenset[Column]().union(*map(columns_in, expressions))
    sizes = largest_values(snapshot, files, columns)
    return [largest(value, snapshot.schema, sizes.__getitem__) for value in expressions]


def can_average(plan: Plan, columns: Collection[Column]) -> bool:
    """Whether a sum of these columns divided by a count is what Spark's AVG gives, bit for bit.

    Spark's AVG adds integers up as doubles. That is the exact sum only while it stays below 2**53, which the
    counts and bounds of the files must show.
    """
    snapshot = plan.planned.snapshot
    whole = [column for column in columns if pa.types.is_integer(column_type(column, snapshot.schema))]
    return not whole or sums_stay_below(_EXACT_DOUBLES, snapshot, plan.planned.files, whole)


def _known(spec: ScanSpec, how: Aggregation, planned: PlannedFiles, others: pa.Table | None) -> FromMetadata:
    if not (spec.settings.aggregates or how.is_one_row):
        return FromMetadata(how.output(spec.snapshot.schema).empty_table(), planned.files)
    return from_metadata(planned.snapshot, planned.files, spec.may_match, how, others)


def by_distinct_values(how: Aggregation) -> Aggregation:
    """The same aggregation with the values that are to be counted as further keys; itself where there are none."""
    others = tuple(aggregate for aggregate in how.aggregates if aggregate.function != "count_distinct")
    return Aggregation((*how.keys, *_counted(how)), others)


def count_distinct_values(rows: pa.Table, how: Aggregation, output: pa.Schema) -> pa.Table:
    """The answer to `how`, with the columns of `output`, from all rows of `by_distinct_values(how)`."""
    counted = _counted(how)
    width, places = len(how.keys), {column: len(how.keys) + at for at, column in enumerate(counted)}
    keys = [rows.column(at) for at in range(width)]
    codes, firsts = group_codes(keys, rows.num_rows)
    others = iter(_merged(rows, how, width + len(counted)))
    values = [
        _distinct(rows.column(places[aggregate.column]), codes, len(firsts))
        if aggregate.function == "count_distinct" and aggregate.column is not None
        else next(others)
        for aggregate in how.aggregates
    ]
    return pa.Table.from_arrays([*(key.take(pa.array(firsts)) for key in keys), *values], schema=output)


def _counted(how: Aggregation) -> list[Column]:
    columns = [aggregate.column for aggregate in how.aggregates if aggregate.function == "count_distinct"]
    return list(dict.fromkeys(column for column in columns if column is not None))


def _merged(rows: pa.Table, how: Aggregation, first: int) -> list[pa.ChunkedArray]:
    """What the other functions come to, group by group in the order of `group_codes`."""
    kept = [*range(len(how.keys)), *range(first, rows.num_columns)]
    merged = merge(rows.select(kept), Aggregation(how.keys, by_distinct_values(how).aggregates))
    return list(merged.columns[len(how.keys) :])


def _distinct(values: pa.ChunkedArray, codes: np.ndarray, groups: int) -> pa.Array:
    valid = values.is_valid().to_numpy()
    owners = pa.chunked_array([pa.array(codes[valid])])
    _, firsts = group_codes([owners, values.filter(pa.array(valid))], int(valid.sum()))
    return pa.array(np.bincount(codes[valid][firsts], minlength=groups))
