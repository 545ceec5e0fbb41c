"""Every function of `pyspark.sql.functions` that works row by row, with what it takes; and those that are not asked.

`TAKING` lists functions that take one column of a kind, `OTHERS` has those that take more, as SQL. Slots are those of
`aggregates.py`.
"""

from collections.abc import Iterator, Mapping, Sequence

TAKING: Mapping[str, str] = {
    "double": (
        "acos acosh asin asinh atan atanh cbrt ceil ceiling cos cosh cot csc degrees exp expm1 floor ln log "
        "log10 log1p log2 radians rint sec sign signum sin sinh sqrt tan tanh isnan"
    ),
    "number": ("abs negative positive bround round zeroifnull nullifzero"),
    "integral": ("bin bit_count bitwise_not:~ hex char"),
    "text": (
        "ascii btrim char_length character_length initcap lcase length lower ltrim octet_length bit_length "
        "reverse rtrim soundex trim ucase upper base64 url_encode crc32 md5 sha sha1 sentences is_valid_utf8 "
        "make_valid_utf8 try_validate_utf8 validate_utf8 try_url_decode quote json_array_length "
        "json_object_keys is_variant_null:isnull to_base32"
    ),
    "bytes": ("hex base64 md5 length"),
    "when": (
        "day dayofmonth dayofweek dayofyear month quarter weekday weekofyear year last_day monthname dayname "
        "to_date unix_timestamp to_timestamp to_timestamp_ltz to_timestamp_ntz"
    ),
    "moment": ("hour minute second unix_micros unix_millis unix_seconds to_unix_timestamp"),
    "day_alone": ("unix_date"),
    "any": ("isnull isnotnull typeof"),
    "grouped": ("hash xxhash64"),
    "array": (
        "array_compact array_distinct array_max array_min array_size cardinality size reverse sort_array "
        "array_sort shuffle"
    ),
    "counts": ("map_entries map_keys map_values size cardinality"),
    "doc": ("is_variant_null schema_of_variant"),
}
OTHERS: Mapping[str, Sequence[str]] = {
    "add_months": ["add_months({when}, 1)"],
    "aes_encrypt": ["aes_decrypt(aes_encrypt({text}, 'abcdefghijklmnop'), 'abcdefghijklmnop')"],
    "aes_decrypt": ["aes_decrypt(aes_encrypt({text}, 'abcdefghijklmnop'), 'abcdefghijklmnop')"],
    "aggregate": ["aggregate({ints}, 0, (a, x) -> a + coalesce(x, 0))"],
    "array": ["array({ordered})"],
    "array_append": ["array_append({ints}, 5)"],
    "array_contains": ["array_contains({ints}, 2)"],
    "array_except": ["array_except({ints}, array(1))"],
    "array_insert": ["array_insert({ints}, 1, 5)"],
    "array_intersect": ["array_intersect({ints}, array(1, 2))"],
    "array_join": ["array_join({ints}, ',')"],
    "array_position": ["array_position({ints}, 2)"],
    "array_prepend": ["array_prepend({ints}, 5)"],
    "array_remove": ["array_remove({ints}, 1)"],
    "array_repeat": ["array_repeat({any}, 2)"],
    "array_union": ["array_union({ints}, array(9))"],
    "arrays_overlap": ["arrays_overlap({ints}, array(1))"],
    "arrays_zip": ["arrays_zip({ints}, {ints})"],
    "assert_true": ["assert_true({integral} IS NULL OR true)"],
    "atan2": ["atan2({double}, 2)"],
    "bit_get": ["bit_get(abs({integral}), 1)"],
    "bitmap_bit_position": ["bitmap_bit_position({integral})"],
    "bitmap_bucket_number": ["bitmap_bucket_number({integral})"],
    "bitmap_count": ["bitmap_count({bytes})"],
    "coalesce": ["coalesce({ordered}, {ordered})"],
    "collate": ["collate({text}, 'UTF8_LCASE') = 'AB'"],
    "collation": ["collation({word})"],
    "concat": ["concat({text}, 'x', {text})"],
    "concat_ws": ["concat_ws(',', {text}, text)"],
    "contains": ["contains({word}, 'b')"],
    "conv": ["conv({integral}, 10, 16)"],
    "convert_timezone": ["convert_timezone('UTC', 'Asia/Kolkata', local)"],
    "create_map": ["map('k', {ordered})"],
    "date_add": ["date_add({when}, 2)"],
    "date_diff": ["date_diff({when}, DATE'2024-01-01')"],
    "date_format": ["date_format({when}, 'yyyy-MM-dd HH:mm:ss')"],
    "date_from_unix_date": ["date_from_unix_date(whole)"],
    "date_part": ["date_part('YEAR', {when})"],
    "date_sub": ["date_sub({when}, 2)"],
    "date_trunc": ["date_trunc('MONTH', {when})"],
    "dateadd": ["dateadd(DAY, 1, {when})"],
    "datediff": ["datediff({when}, DATE'2024-01-01')"],
    "datepart": ["datepart('MONTH', {when})"],
    "decode": ["decode(encode({text}, 'UTF-8'), 'UTF-8')"],
    "e": ["e() + {double}"],
    "element_at": ["element_at({ints}, 1)", "try_element_at({ints}, 1)", "element_at(counts, 'a')"],
    "elt": ["elt(2, 'x', {text})"],
    "encode": ["encode({text}, 'UTF-16BE')"],
    "endswith": ["endswith({word}, 'b')"],
    "equal_null": ["equal_null({ordered}, NULL)"],
    "exists": ["exists({ints}, x -> x > 1)"],
    "extract": ["extract(YEAR FROM {when})"],
    "factorial": ["factorial(abs(whole))"],
    "filter": ["filter({ints}, x -> x > 1)"],
    "find_in_set": ["find_in_set({text}, 'a,ab')"],
    "flatten": ["flatten(array({ints}, {ints}))"],
    "forall": ["forall({ints}, x -> x > 0)"],
    "format_number": ["format_number({integral}, 2)"],
    "format_string": ["format_string('%s %s', {text}, {text})"],
    "from_csv": ["from_csv({text}, 'x STRING')"],
    "from_json": ["from_json({text}, 'x INT')"],
    "from_unixtime": ["from_unixtime(whole)"],
    "from_utc_timestamp": ["from_utc_timestamp({when}, 'Asia/Kolkata')"],
    "get": ["get({ints}, 0)"],
    "get_json_object": ["get_json_object({text}, '$.a')"],
    "getbit": ["getbit(abs({integral}), 0)"],
    "greatest": ["greatest({ordered}, {ordered})", "greatest(whole, tiny, 3)"],
    "hypot": ["hypot({double}, 1)"],
    "ifnull": ["ifnull({ordered}, {ordered})"],
    "ilike": ["ilike({text}, 'A%')"],
    "input_file_block_length": ["input_file_block_length()"],
    "input_file_block_start": ["input_file_block_start()"],
    "input_file_name": ["input_file_name()"],
    "monotonically_increasing_id": ["monotonically_increasing_id()"],
    "rand": ["rand(7)"],
    "randn": ["randn(7)"],
    "randstr": ["randstr(5, 7)"],
    "shuffle": ["shuffle({ints})"],
    "spark_partition_id": ["spark_partition_id()"],
    "uniform": ["uniform(1, 9, 7)"],
    "current_timestamp": ["current_timestamp()"],
    "current_date": ["current_date()"],
    "curdate": ["curdate()"],
    "localtimestamp": ["localtimestamp()"],
    "now": ["now()"],
    "instr": ["instr({text}, 'b')"],
    "is_valid_variant": ["is_valid_variant({doc})"],
    "jaro_winkler_similarity": ["jaro_winkler_similarity({text}, 'ab')"],
    "least": ["least({ordered}, {ordered})"],
    "left": ["left({text}, 1)"],
    "levenshtein": ["levenshtein({text}, 'ab')"],
    "like": ["like({text}, 'a%')"],
    "locate": ["locate('b', {text})"],
    "lpad": ["lpad({text}, 5, '#')", "lpad(bytes, 3, X'00')"],
    "make_date": ["try_cast(concat('2024-01-0', {text}) AS DATE)", "make_date(2024, 1, part)"],
    "make_dt_interval": ["make_dt_interval(whole) > INTERVAL '1' DAY"],
    "make_interval": ["day + make_interval(0, 1)"],
    "make_timestamp": ["make_timestamp(2024, 1, part, 1, 2, 3)"],
    "make_timestamp_ltz": ["make_timestamp_ltz(2024, 1, part, 1, 2, 3)"],
    "make_timestamp_ntz": ["make_timestamp_ntz(2024, 1, part, 1, 2, 3)"],
    "make_ym_interval": ["make_ym_interval(whole) > INTERVAL '1' YEAR"],
    "map_concat": ["map_concat(counts, map('z', 1))"],
    "map_contains_key": ["map_contains_key(counts, 'a')"],
    "map_filter": ["map_filter(counts, (k, v) -> v > 0)"],
    "map_from_arrays": ["map_from_arrays(array('k'), array({ordered}))"],
    "map_from_entries": ["map_from_entries(map_entries(counts))"],
    "map_zip_with": ["map_zip_with(counts, counts, (k, a, b) -> a + b)"],
    "mask": ["mask({text})"],
    "months": ["month(day)"],
    "months_between": ["months_between({when}, DATE'2024-01-01')"],
    "named_struct": ["named_struct('a', {ordered})"],
    "nanvl": ["nanvl({double}, 0)"],
    "next_day": ["next_day({when}, 'MO')"],
    "nullif": ["nullif({ordered}, {ordered})"],
    "nvl": ["nvl({ordered}, {ordered})"],
    "nvl2": ["nvl2({ordered}, 1, 2)"],
    "overlay": ["overlay({text} PLACING 'x' FROM 1)"],
    "parse_json": ["try_parse_json({text})"],
    "parse_url": ["try_parse_url({text}, 'HOST')"],
    "pi": ["pi() * {double}"],
    "pmod": ["pmod({integral}, 3)"],
    "position": ["position('b', {text})"],
    "pow": ["pow({double}, 2)"],
    "power": ["power({double}, 2)"],
    "printf": ["printf('%s', {text})"],
    "regexp": ["regexp({text}, '^a')"],
    "regexp_count": ["regexp_count({text}, 'a')"],
    "regexp_extract": ["regexp_extract({text}, '(a)', 1)"],
    "regexp_extract_all": ["regexp_extract_all({text}, '(a)', 1)"],
    "regexp_instr": ["regexp_instr({text}, 'b')"],
    "regexp_like": ["regexp_like({text}, 'b')"],
    "regexp_replace": ["regexp_replace({text}, 'a', 'z')"],
    "regexp_substr": ["regexp_substr({text}, 'a.')"],
    "repeat": ["repeat({text}, 2)"],
    "replace": ["replace({text}, 'a', 'z')"],
    "right": ["right({text}, 1)"],
    "rlike": ["rlike({text}, 'b$')"],
    "rpad": ["rpad({text}, 5, '#')"],
    "sequence": ["sequence(1, abs(part))"],
    "sha2": ["sha2({text}, 256)"],
    "shiftleft": ["shiftleft({integral}, 1)"],
    "shiftright": ["shiftright({integral}, 1)"],
    "shiftrightunsigned": ["shiftrightunsigned({integral}, 1)"],
    "slice": ["slice({ints}, 1, 1)"],
    "split": ["split({text}, 'b')"],
    "split_part": ["split_part({text}, 'b', 1)"],
    "startswith": ["startswith({word}, 'a')"],
    "str_to_map": ["str_to_map({text}, ',', ':')"],
    "struct": ["struct({any})"],
    "substr": ["substr({text}, 2)"],
    "substring": ["substring({text}, 1, 1)", "substring(bytes, 1, 1)"],
    "substring_index": ["substring_index({text}, 'b', 1)"],
    "timestamp_add": ["timestampadd(HOUR, 1, {when})"],
    "timestamp_diff": ["timestampdiff(HOUR, {when}, TIMESTAMP'2024-01-01 00:00:00Z')"],
    "timestamp_micros": ["timestamp_micros(whole)"],
    "timestamp_millis": ["timestamp_millis(whole)"],
    "timestamp_seconds": ["timestamp_seconds(whole)"],
    "to_binary": ["try_to_binary({text}, 'utf-8')"],
    "to_char": ["to_char(price, '999999.99')"],
    "to_csv": ["to_csv(struct({text}))"],
    "to_json": ["to_json(struct({any}))"],
    "to_number": ["try_to_number({text}, '99')"],
    "to_utc_timestamp": ["to_utc_timestamp({when}, 'Asia/Kolkata')"],
    "to_varchar": ["to_varchar(price, '999999.99')"],
    "to_variant_object": ["to_variant_object(struct({ordered}))"],
    "transform": ["transform({ints}, x -> x + 1)"],
    "transform_keys": ["transform_keys(counts, (k, v) -> concat(k, 'x'))"],
    "transform_values": ["transform_values(counts, (k, v) -> v + 1)"],
    "translate": ["translate({text}, 'ab', 'xy')"],
    "trunc": ["trunc({when}, 'MONTH')"],
    "try_add": ["try_add({number}, 1)"],
    "try_divide": ["try_divide({number}, {number})"],
    "try_element_at": ["try_element_at({ints}, 5)"],
    "try_mod": ["try_mod({integral}, 2)"],
    "try_multiply": ["try_multiply({number}, 2)"],
    "try_subtract": ["try_subtract({number}, 1)"],
    "try_to_date": ["try_to_date({text})"],
    "try_to_timestamp": ["try_to_timestamp({text})"],
    "try_variant_get": ["try_variant_get({doc}, '$.a', 'int')"],
    "unbase64": ["unbase64(base64({text}))"],
    "unhex": ["unhex(hex({text}))"],
    "url_decode": ["url_decode(url_encode({text}))"],
    "variant_get": ["variant_get({doc}, '$.b', 'boolean')"],
    "when": ["CASE WHEN {flag} THEN 1 WHEN whole > 1 THEN 2 END"],
    "width_bucket": ["width_bucket({double}, 0, 10, 5)"],
    "window": ["window({moment}, '1 day')"],
    "xpath": ["xpath_string('<a>b</a>', 'a') = {text}"],
    "zip_with": ["zip_with({ints}, {ints}, (x, y) -> x + y)"],
}
_BY_REASON: Mapping[str, str] = {
    "no function of rows: a class, a decorator, or a word for the order, a partition or a literal": (
        "AnalyzeArgument AnalyzeResult ArrowUDFType OrderingColumn PandasUDFType PartitioningColumn "
        "SelectedColumn SkipRestOfInputTableException UserDefinedFunction UserDefinedTableFunction arrow_udf "
        "arrow_udtf asc asc_nulls_first asc_nulls_last broadcast bucket call_function call_udf col column "
        "days desc desc_nulls_first desc_nulls_last expr hours lit pandas_udf udf udtf unwrap_udt years"
    ),
    "of windows: tests/walks asks them": (
        "cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number session_window window_time"
    ),
    "gives rows, not a value: tests/matrix/shapes.py has explode": (
        "explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack"
    ),
    "speaks of the session, and of no row": (
        "current_catalog current_database current_path current_schema current_time "
        "current_timezone current_user session_user user version"
    ),
    "calls Java, XML or a key's text, and of a column only what `text` shows": (
        "from_xml hmac java_method raise_error reflect schema_of_csv schema_of_json schema_of_xml to_xml "
        "try_aes_decrypt try_parse_json try_parse_url try_reflect xpath_boolean xpath_double xpath_float "
        "xpath_int xpath_long xpath_number xpath_short xpath_string"
    ),
    "other words for a function that is asked": ("negate product reduce sum_distinct"),
    "of TIME, which no column of Delta's has, or of its spans": (
        "to_time try_to_time make_time time_bucket time_diff time_from_micros time_from_millis "
        "time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp_nanos "
        "unix_nanos"
    ),
    "reads its column as those beside it do, and Spark alone works the value out": (
        "try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_binary "
        "try_to_number try_variant_array_append try_variant_insert try_variant_set variant_array_append "
        "variant_delete variant_insert variant_set variant_strip_nulls counter_diff from_base32 "
        "vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize"
    ),
    "of types that are refused": ("st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid"),
}
NOT_ASKED = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}


def is_of_sketches(name: str) -> bool:
    """Whether a function works on a sketch, of which no column has one."""
    return name.startswith(("hll_", "kll_", "theta_", "tuple_"))


def questions() -> Iterator[tuple[str, str]]:
    """A function's name and a call with slots. `name:~` in `TAKING` is the operator."""
    for kind, names in TAKING.items():
        for word in names.split():
            name, _, other = word.partition(":")
            if other == "~":
                yield name, f"~{{{kind}}}"
            elif not other:
                yield name, f"{name}({{{kind}}})"
    for name, templates in OTHERS.items():
        for template in templates:
            yield name, template
