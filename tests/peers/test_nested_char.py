"""CHAR and VARCHAR inside structs, arrays and maps: the same answers as Delta Spark in the same session."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.peers.queries import different

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]


def test_nested_char_and_varchar(delta_spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/t"
    delta_spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT, c CHAR(4), v VARCHAR(4), s STRUCT<a: CHAR(4), b: VARCHAR(4), n: "
        "STRUCT<a: CHAR(3)>>, l ARRAY<CHAR(3)>, m MAP<CHAR(2), VARCHAR(5)>, ls ARRAY<STRUCT<a: CHAR(2)>>) USING delta"
    )
    delta_spark.sql(
        f"INSERT INTO delta.`{path}` VALUES "
        "(1, 'x', 'x', named_struct('a', 'x', 'b', 'x', 'n', named_struct('a', 'x')), array('x', NULL), map('k', 'x'), "
        "array(named_struct('a', 'x'))), "
        "(2, 'xyz ', 'x  ', named_struct('a', 'xyz ', 'b', 'x  ', 'n', NULL), array(), map(), NULL), "
        "(3, NULL, NULL, NULL, NULL, NULL, array(NULL))"
    )
    filters = ["c", "v", "s.a", "s.b", "s.n.a", "l[0]", "m['k']", "m['k ']", "ls[0].a"]
    queries = ["SELECT * FROM {}", "SELECT id, s.a, length(s.a), length(l[0]), length(s.b) FROM {}"]
    queries += [f"SELECT id FROM {{}} WHERE {what} = {text}" for what in filters for text in ("'x'", "'x   '", "'x  '")]
    queries += [f"SELECT id FROM {{}} WHERE {what} IN ('x', 'xyz')" for what in filters]
    queries += [f"SELECT {what}, count(*) FROM {{}} GROUP BY 1" for what in filters]
    queries += ["SELECT min(s.a), max(s.a), min(c), max(c) FROM {}", "SELECT id FROM {} WHERE s.a LIKE 'x%'"]
    assert not (differences := different(delta_spark, path, queries)), "\n".join(differences)
