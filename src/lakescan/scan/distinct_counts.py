"""Counts of distinct values: the aggregation is made by those values too, and then each group's values are counted.

Only whole answers can be counted: the rows given here must be all of the aggregation's, each group once.
"""

import numpy as np
import pyarrow as pa

from lakescan.predicate import Column
from lakescan.reader.aggregate import group_codes, merge
from lakescan.reader.aggregation import Aggregation


def by_distinct_values(how: Aggregation) -> Aggregation:
    """The same aggregation with the values that are to be counted as further keys; itself where there are none."""
    others = tuple(found for found in how.aggregates if found.function != "count_distinct")
    return Aggregation((*how.keys, *_counted(how)), others)


def count_distinct_values(rows: pa.Table, how: Aggregation, output: pa.Schema) -> pa.Table:
    """The answer to `how`, with the columns of `output`, from all rows of `by_distinct_values(how)`."""
    counted = _counted(how)
    width, places = len(how.keys), {column: len(how.keys) + at for at, column in enumerate(counted)}
    keys = [rows.column(at) for at in range(width)]
    codes, firsts = group_codes(keys, rows.num_rows)
    others = iter(_merged(rows, how, width + len(counted)))
    values = [
        _distinct(rows.column(places[found.column]), codes, len(firsts))
        if found.function == "count_distinct" and found.column is not None
        else next(others)
        for found in how.aggregates
    ]
    return pa.Table.from_arrays([*(key.take(pa.array(firsts)) for key in keys), *values], schema=output)


def _counted(how: Aggregation) -> list[Column]:
    columns = [found.column for found in how.aggregates if found.function == "count_distinct"]
    return list(dict.fromkeys(column for column in columns if column is not None))


def _merged(rows: pa.Table, how: Aggregation, first: int) -> list[pa.ChunkedArray]:
    """What the other functions come to, group by group in the order of `group_codes`."""
    kept = [*range(len(how.keys)), *range(first, rows.num_columns)]
    found = merge(rows.select(kept), Aggregation(how.keys, by_distinct_values(how).aggregates))
    return list(found.columns[len(how.keys) :])


def _distinct(values: pa.ChunkedArray, codes: np.ndarray, groups: int) -> pa.Array:
    valid = values.is_valid().to_numpy()
    owners = pa.chunked_array([pa.array(codes[valid])])
    _, firsts = group_codes([owners, values.filter(pa.array(valid))], int(valid.sum()))
    return pa.array(np.bincount(codes[valid][firsts], minlength=groups))
