"""DESCRIBE DETAIL of a clustered table names the columns that it is clustered by, as Delta Spark does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptLog
from lakescan.formats.registry import detail
from tests.tables import DeltaBuilder


def clustering(path: Path | str) -> Any:
    return detail(lakescan.open(path), {})["clusteringColumns"].to_pylist()[0]


def domain(text: str, **more: Any) -> dict[str, Any]:
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": text, "removed": False, **more}}


@pytest.mark.parametrize("from_checkpoint", [False, True])
def test_columns_have_the_names_that_queries_use(
    sample: Callable[[str], Path], tmp_path: Path, from_checkpoint: bool
) -> None:
    """Delta Spark wrote the table and said so: CLUSTER BY (s.f, old, `a.b`), and `old` was renamed."""
    path = Path(shutil.copytree(sample("clustered"), tmp_path / "t"))
    if from_checkpoint:
        assert list((path / "_delta_log").glob("*.checkpoint*"))
        for commit in (path / "_delta_log").glob("0*.json"):
            if "checkpoint" not in commit.name:
                commit.unlink()
    assert clustering(path) == ["s.f", "new", "`a.b`"]


def test_the_newest_word_on_clustering_counts(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    assert clustering(table.path) == []
    table.commit(domain(json.dumps({"clusteringColumns": [["a"]]})), {"domainMetadata": {"domain": "other"}})
    assert clustering(table.path) == ["a"]
    table.commit(domain(json.dumps({"clusteringColumns": [["b"], ["a"]]})))
    assert clustering(table.path) == ["b", "a"]
    table.commit(domain("{}", removed=True))
    assert clustering(table.path) == []


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no JSON", '{"clusteringColumns": [["gone"]]}', '{"clusteringColumns": 1}']
)
def test_a_malformed_domain_is_an_error_that_names_the_log(text: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64())]))
    table.commit(domain(text))
    with pytest.raises(CorruptLog, match=r"_delta_log.*its domain delta.clustering is malformed"):
        clustering(table.path)
