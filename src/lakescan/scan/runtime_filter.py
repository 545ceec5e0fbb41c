"""A plan narrowed by values that only became known when the query ran: the other side of a join found them.

Files are dropped by their partition values and by their statistics, on any column that has either. The plan it
starts from is not changed.
"""

import time
from dataclasses import replace

from lakescan.predicate import TRUE, Predicate, columns_of, may_match, split_by_columns
from lakescan.scan.pruning import PlannedFiles, matching_partitions, statistics_for


def narrowed(planned: PlannedFiles, predicate: Predicate, by_statistics: bool) -> PlannedFiles:
    """The planned files that may hold a row for which the predicate is true."""
    began, snapshot, files = time.perf_counter(), planned.snapshot, planned.files
    by_partition, by_data = split_by_columns(predicate, snapshot.partition_columns)
    if by_partition != TRUE:
        files = matching_partitions(files, by_partition)
    if by_data != TRUE and files.num_rows and by_statistics:
        files = files.filter(may_match(by_data, statistics_for(snapshot, files, columns_of(by_data))))
    return replace(planned.then("runtime filters", files, began), skip_rows=planned.skip_rows)
