"""Every aggregate function with what it takes: from PySpark's own list, by kinds of columns.

A slot such as `{number}` is filled with every column of the kind in turn, a second slot of the text with one that
stays. A kind is a list of columns of `tables.py`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

INTEGRAL = ["tiny", "small", "whole", "big", "edge", "part", "id"]
NUMBER = ["whole", "tiny", "small", "big", "edge", "single", "real", "price", "wide", "`a.b`", "`ü`", "part"]
TEXT = ["text", "fixed", "short", "`two words`", "UPPER", "kind", "st.y"]
ORDERED = [
    *NUMBER,
    *TEXT,
    *("folded", "flag", "bytes", "day", "moment", "local", "months", "span", "ints", "pairs", "st", "st.deep.z"),
]
KINDS: Mapping[str, Sequence[str]] = {
    "integral": INTEGRAL,
    "number": NUMBER,
    "double": ["real", "single", "`ü`", "whole"],
    "text": TEXT,
    "word": [*TEXT, "folded"],
    "flag": ["flag", "whole > 1", "text LIKE 'a%'", "real > 1"],
    "bytes": ["bytes"],
    "ordered": ORDERED,
    "grouped": [*ORDERED],
    "any": [*ORDERED, "doc", "counts", "nothing"],
    "span": ["months", "span"],
    "summed": [*NUMBER, "months", "span"],
    "hashed": ["whole", "big", "text", "bytes", "real"],
    "ints": ["ints"],
    "doc": ["doc"],
    "when": ["day", "moment", "local"],
    "moment": ["moment"],
    "day_alone": ["day"],
    "array": ["ints", "pairs", "st.deep.w"],
    "counts": ["counts"],
    "vector": ["CAST(array(tiny, whole) AS ARRAY<FLOAT>)"],
}
_SLOT = re.compile(r"\{(\w+)\}")

PUSHED = ("count", "min", "max", "sum", "avg")
"""Those that Spark offers to a source: asked alone, they take a way of their own."""

AGGREGATES: Mapping[str, Sequence[str] | str] = {
    "any_value": ["any_value({any})"],
    "approx_count_distinct": ["approx_count_distinct({grouped})"],
    "approx_percentile": ["approx_percentile({number}, array(0.0, 0.5, 1.0), 1000)"],
    "array_agg": ["array_agg({ordered})"],
    "avg": ["avg({summed})"],
    "bit_and": ["bit_and({integral})"],
    "bit_or": ["bit_or({integral})"],
    "bit_xor": ["bit_xor({integral})"],
    "bitmap_and_agg": ["hex(bitmap_and_agg({bytes}))"],
    "bitmap_construct_agg": ["length(bitmap_construct_agg(abs({integral}) % 8))"],
    "bitmap_or_agg": ["hex(bitmap_or_agg({bytes}))"],
    "bool_and": ["bool_and({flag})"],
    "bool_or": ["bool_or({flag})"],
    "collect_list": ["collect_list({ordered})"],
    "collect_set": ["collect_set({ordered})"],
    "collect_union": ["sort_array(collect_union({ints}))"],
    "corr": ["corr({number}, id)"],
    "count": ["count({any})", "count(*)", "count(1)", "count({number}, {text})", "count(NULL)"],
    "count_distinct": ["count(DISTINCT {grouped})", "count(DISTINCT {grouped}, flag)", "count(DISTINCT 'x')"],
    "count_if": ["count_if({flag})", "count_if(false)", "count_if(NULL)"],
    "count_min_sketch": ["hex(count_min_sketch({integral}, 0.5D, 0.5D, 1))"],
    "covar_pop": ["covar_pop({number}, id)"],
    "covar_samp": ["covar_samp({number}, id)"],
    "every": ["every({flag})"],
    "first": ["first({any})", "first({any}, true)"],
    "first_value": ["first_value({any})"],
    "grouping": "of GROUPING SETS, which tests/matrix/shapes.py asks",
    "grouping_id": "of GROUPING SETS, which tests/matrix/shapes.py asks",
    "histogram_numeric": ["histogram_numeric({number}, 20)"],
    "hll_sketch_agg": ["hll_sketch_estimate(hll_sketch_agg({hashed}))"],
    "hll_union_agg": "merges sketches of a table, which has none",
    "kll_merge_agg_bigint": "merges sketches of a table, which has none; sketches are what kll_sketch_agg_bigint gives",
    "kll_merge_agg_double": "as kll_merge_agg_bigint",
    "kll_merge_agg_float": "as kll_merge_agg_bigint",
    "kll_sketch_agg_bigint": ["kll_sketch_get_n_bigint(kll_sketch_agg_bigint({integral}))"],
    "kll_sketch_agg_double": ["kll_sketch_get_n_double(kll_sketch_agg_double(st.deep.z))"],
    "kll_sketch_agg_float": ["kll_sketch_get_n_float(kll_sketch_agg_float(CAST({integral} AS FLOAT)))"],
    "kurtosis": ["kurtosis({number})"],
    "last": ["last({any})"],
    "last_value": ["last_value({any})"],
    "listagg": ["listagg({text}, ',') WITHIN GROUP (ORDER BY {text})"],
    "listagg_distinct": ["listagg(DISTINCT text, ',') WITHIN GROUP (ORDER BY text)"],
    "max": ["max({ordered})"],
    "max_by": ["max_by({any}, id)", "max_by(id, struct({ordered}, id))"],
    "mean": ["mean({summed})"],
    "median": ["median({number})"],
    "min": ["min({ordered})"],
    "min_by": ["min_by({any}, id)"],
    "mode": ["mode({grouped}, true)"],
    "percentile": ["percentile({number}, 0.5)", "percentile({number}, array(0.0, 0.3))"],
    "percentile_approx": ["percentile_approx({number}, 0.5, 1000)"],
    "product": "no function of SQL: tests/matrix/methods.py has it as a Column",
    "regr_avgx": ["regr_avgx({number}, id)"],
    "regr_avgy": ["regr_avgy({number}, id)"],
    "regr_count": ["regr_count({number}, id)"],
    "regr_intercept": ["regr_intercept({number}, id)"],
    "regr_r2": ["regr_r2({number}, id)"],
    "regr_slope": ["regr_slope({number}, id)"],
    "regr_sxx": ["regr_sxx({number}, id)"],
    "regr_sxy": ["regr_sxy({number}, id)"],
    "regr_syy": ["regr_syy({number}, id)"],
    "schema_of_variant_agg": ["schema_of_variant_agg({doc})"],
    "skewness": ["skewness({number})"],
    "some": ["some({flag})"],
    "std": ["std({number})"],
    "stddev": ["stddev({number})"],
    "stddev_pop": ["stddev_pop({number})"],
    "stddev_samp": ["stddev_samp({number})"],
    "string_agg": ["string_agg({text}, '') WITHIN GROUP (ORDER BY {text} DESC)"],
    "string_agg_distinct": ["string_agg(DISTINCT kind, '') WITHIN GROUP (ORDER BY kind)"],
    "sum": ["sum({summed})", "sum({number} * 2)", "sum(price * (1 - price))"],
    "sum_distinct": ["sum(DISTINCT {summed})"],
    "theta_intersection_agg": "merges sketches of a table, which has none",
    "theta_sketch_agg": ["theta_sketch_estimate(theta_sketch_agg({hashed}))"],
    "theta_union_agg": "merges sketches of a table, which has none",
    "try_avg": ["try_avg({summed})"],
    "try_sum": ["try_sum({summed})"],
    "tuple_intersection_agg_double": "merges sketches of a table, which has none",
    "tuple_intersection_agg_integer": "merges sketches of a table, which has none",
    "tuple_sketch_agg_double": ["tuple_sketch_estimate_double(tuple_sketch_agg_double({hashed}, 1.0D))"],
    "tuple_sketch_agg_integer": ["tuple_sketch_estimate_integer(tuple_sketch_agg_integer({hashed}, 1))"],
    "tuple_union_agg_double": "merges sketches of a table, which has none",
    "tuple_union_agg_integer": "merges sketches of a table, which has none",
    "var_pop": ["var_pop({number})"],
    "var_samp": ["var_samp({number})"],
    "variance": ["variance({number})"],
    "vector_avg": ["vector_avg({vector})"],
    "vector_sum": ["vector_sum({vector})"],
}


def filled(text: str, most: int | None = None) -> Iterator[str]:
    """A text once for every column that its first slot takes, or for the first so many."""
    slot = _SLOT.search(text)
    if slot is None:
        yield text
        return
    for column in KINDS[slot[1]][:most]:
        first = text[: slot.start()] + column + text[slot.end() :]
        yield _SLOT.sub(lambda other: KINDS[other[1]][0], first)
