"""What two readers may answer differently by nature, each with its reason: the one list of what the matrix lets pass.

`BY_NATURE` says for a function what is compared of it instead of its value, `ROUNDED` why floats are compared to nine
digits, `OF_SPARK` what Spark itself answers wrongly, and so is asked otherwise.
"""

from collections.abc import Mapping

# Says nothing of the value, yet cannot be folded away before the value was read.
ANY_ROW = "coalesce(least(length(CAST({} AS STRING)), 0), 0)"
BY_NATURE: Mapping[str, tuple[str, str]] = {
    "any_value": (ANY_ROW, "any row's value, of whichever task ends first"),
    "first": (ANY_ROW, "the value of the row that comes first, of whichever task ends first"),
    "first_value": (ANY_ROW, "as first"),
    "last": (ANY_ROW, "as first"),
    "last_value": (ANY_ROW, "as first"),
    "array_agg": ("sort_array({})", "rows are collected in the order in which tasks end"),
    "collect_list": ("sort_array({})", "as array_agg"),
    "collect_set": ("sort_array({})", "as array_agg"),
    "histogram_numeric": ("size({}) > 0", "bins are merged in the order in which tasks end"),
    "rand": (ANY_ROW, "random, by the task's number"),
    "randn": (ANY_ROW, "random, by the task's number"),
    "randstr": ("length({})", "random, by the task's number"),
    "uniform": (ANY_ROW, "random, by the task's number"),
    "shuffle": ("sort_array({})", "random, by the task's number"),
    "monotonically_increasing_id": (ANY_ROW, "made of the task's number"),
    "spark_partition_id": (ANY_ROW, "the task's number"),
    "input_file_name": ("length({}) > 0", "the copy has other files"),
    "input_file_block_start": ("{} >= 0", "the copy has other files"),
    "input_file_block_length": ("{} > 0", "the copy has other files"),
    "current_timestamp": (ANY_ROW, "the moment of the query"),
    "now": (ANY_ROW, "the moment of the query"),
    "localtimestamp": (ANY_ROW, "the moment of the query"),
    "current_date": (ANY_ROW, "the moment of the query"),
    "curdate": (ANY_ROW, "the moment of the query"),
}
ROUNDED = (
    "sums, means and variances of floats: a task adds them up in the order of its rows, and Spark the tasks' in the "
    "order in which these end"
)
OF_SPARK: Mapping[str, str] = {
    "a void column in INTERSECT, EXCEPT or <=> of a join": "Spark joins by coalesce(NULL, NULL), never equal: a "
    "DataFrame of Python rows with a void column gives no row either, and only the copy's NULL literal is folded away",
    "min, max and their like of text with a collation, interpreted": "where no code is generated Spark does not copy "
    "such a text out of its row, and the next row overwrites it, of Parquet too: it is asked with generated code",
    "rows with a NaN in files of pyarrow's": "Spark's Parquet reader skips them by statistics that leave NaN out, so "
    "the copies have no statistics",
}
