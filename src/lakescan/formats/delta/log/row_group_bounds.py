"""What a checkpoint's footer says of all files in a row group together, as if they were one file.

A row group's least minimum and greatest maximum of a statistic are bounds of every file in it, and so are those of the
parsed partition values; where one of its adds may lack the statistic, nothing is known. So the rule that skips files
skips row groups, before any of their pages is read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.opened_once import OpenedOnce, Path
from lakescan.formats.delta.statistics.parsed import typed_statistics
from lakescan.predicate import may_match
from lakescan.reader.file_checks import footer_statistics
from lakescan.scan.file_filters import PartitionFilter
from lakescan.scan.file_statistics import FileStatistics, statistics_type
from lakescan.types.columns import empty_structs


def row_groups_to_read(file: OpenedOnce, wanted: LogFilter) -> Sequence[int]:
    """The row groups in which some file may pass the filter."""
    groups = range(file.metadata.num_row_groups)
    step = wanted.step
    if len(groups) < 2 or (isinstance(step, PartitionFilter) and step.unknown):
        return groups
    known = _partition_bounds(file, wanted) if isinstance(step, PartitionFilter) else _bounds(file, wanted)
    if known is None:
        return groups
    kept = may_match(step.predicate, FileStatistics(known, empty_structs(len(groups))))
    # A row group without an add has nothing to skip by, and nothing to read.
    return [int(at) for at in np.flatnonzero(kept.to_numpy(zero_copy_only=False))]


def _bounds(file: OpenedOnce, wanted: LogFilter) -> pa.StructArray | None:
    request = wanted.request
    low = _leaves(file, ("add", "stats_parsed", "minValues"), request.physical, least=True)
    high = _leaves(file, ("add", "stats_parsed", "maxValues"), request.physical, least=False)
    if low is None or high is None:
        return None
    return typed_statistics(pa.StructArray.from_arrays([low, high], names=["minValues", "maxValues"]), request)


def _partition_bounds(file: OpenedOnce, wanted: LogFilter) -> pa.StructArray | None:
    both = zip(wanted.partition_names, wanted.partition_fields, strict=True)
    physical = pa.schema([pa.field(name, field.type) for name, field in both])
    low, high = (_leaves(file, ("add", "partitionValues_parsed"), physical, least) for least in (True, False))
    if low is None or high is None:
        return None
    fields = [pa.field(field.name, field.type) for field in wanted.partition_fields]
    type_ = statistics_type(fields)
    known = {
        name: pa.StructArray.from_arrays(side.flatten(), fields=list(type_.field(name).type))
        for name, side in (("minimum", low), ("maximum", high))
    }
    count = file.metadata.num_row_groups
    return pa.StructArray.from_arrays(
        [known.get(field.name, pa.nulls(count, field.type)) for field in type_], fields=list(type_)
    )


def _leaves(file: OpenedOnce, parent: Path, fields: pa.Schema, least: bool) -> pa.StructArray | None:
    """A bound of each of these columns below a struct, an entry a row group; None where nothing is known of any."""
    columns = [_leaf(file, (*parent, field.name), field.type, least) for field in fields]
    if all(column.null_count == len(column) for column in columns):
        return None
    return pa.StructArray.from_arrays(columns, names=fields.names)


def _leaf(file: OpenedOnce, path: Path, type_: pa.DataType, least: bool) -> pa.Array:
    groups = range(file.metadata.num_row_groups)
    leaf = file.leaf(path)
    # Floats may have a NaN that no bound shows; a moment's unit is the writer's choice.
    ordered = pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_string(type_)
    if leaf is None or not ordered:
        return pa.nulls(len(groups), type_)
    bounds = pa.array([_value(file, group, leaf, least) for group in groups], type_)
    return file.in_our_calendar(bounds, path)


def _value(file: OpenedOnce, group: int, leaf: int, least: bool) -> Any:
    """The bound, None where it is not known, or not of every add of the row group."""
    known = footer_statistics(file.metadata, group, leaf)
    if known is None or not known.has_min_max or not known.has_null_count:
        return None
    if known.null_count != file.null_count(group, ("add", "path")):
        return None
    return known.min if least else known.max
