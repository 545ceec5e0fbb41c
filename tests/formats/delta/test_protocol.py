"""Every reader feature of Delta's protocol is supported or refused by name; what only writers need stops nobody."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan import errors
from tests.sample_tables import sample_tables
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])
# The features that the published protocol gives to readers.
SUPPORTED = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
]
CATALOG_MANAGED = ["catalogManaged", "catalogOwned-preview"]


@pytest.mark.parametrize("feature", SUPPORTED)
def test_a_supported_feature_stops_nobody(feature: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=[feature])
    table.append(pa.table({"id": [1]}))
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist() == [{"id": 1}]


@pytest.mark.parametrize("feature", CATALOG_MANAGED)
def test_a_catalog_managed_table_is_refused_with_a_sentence_that_explains_it(feature: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=[feature])
    with pytest.raises(errors.CatalogManaged, match=rf"{feature}.*A catalog decides which commits"):
        lakescan.open(table.path).snapshot()


@pytest.mark.parametrize("feature", ["geospatial", "aFeatureOfTheFuture", "intervals-preview"])
def test_any_other_feature_is_refused_by_name(feature: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=["deletionVectors", feature])
    with pytest.raises(errors.UnsupportedFeature, match=f"table feature {feature}, which"):
        lakescan.open(table.path).snapshot()


def test_a_feature_that_only_writers_need_stops_no_reader(tmp_path: Path) -> None:
    writers = ["appendOnly", "invariants", "rowTracking", "clustering", "collations", "aWriterFeatureOfTheFuture"]
    for reader in (1, 3):
        table = DeltaBuilder(tmp_path / str(reader), SCHEMA, create=False)
        protocol = {"minReaderVersion": reader, "minWriterVersion": 7, "writerFeatures": writers}
        named: dict[str, list[str]] = {"readerFeatures": []} if reader == 3 else {}
        table.commit({"protocol": {**protocol, **named}}, table.metadata())
        table.append(pa.table({"id": [1]}))
        assert lakescan.open(table.path).snapshot().num_files == 1


@pytest.mark.parametrize("spelling", ["timestampWithoutTimezone", "TimestampNtz", "DELETIONVECTORS", "columnmapping"])
def test_a_feature_is_known_by_its_older_name_and_in_any_case(spelling: str, tmp_path: Path) -> None:
    """delta-rs takes the first, and Delta Spark compares names in lower case."""
    mapping = "name" if spelling == "columnmapping" else None
    table = DeltaBuilder(tmp_path, SCHEMA, mapping=mapping, create=False)
    table.features = [spelling]
    table.commit(table.protocol(), table.metadata())
    table.append(pa.table({"id": [1]}))
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist() == [{"id": 1}]


def test_a_catalog_managed_table_is_refused_however_its_feature_is_spelled(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=["catalogmanaged"])
    with pytest.raises(errors.CatalogManaged, match="catalogmanaged"):
        lakescan.open(table.path).snapshot()


@pytest.mark.parametrize("reader", [1, 2, 3])
def test_columns_are_mapped_where_only_writers_are_named_the_feature(reader: int, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, mapping="name", create=False)
    named: dict[str, list[str]] = {"readerFeatures": []} if reader == 3 else {}
    protocol = {"minReaderVersion": reader, "minWriterVersion": 7, "writerFeatures": ["columnMapping"], **named}
    table.commit({"protocol": protocol}, table.metadata())
    table.append(pa.table({"id": [1]}))
    (file,) = [path for path in tmp_path.iterdir() if path.suffix == ".parquet"]
    assert pq.read_schema(file).names != ["id"]
    assert lakescan.open(table.path).snapshot().scan().filter("id = 1").build().to_arrow().to_pylist() == [{"id": 1}]


@pytest.mark.parametrize("version", [0, 4, 99])
def test_a_reader_version_that_does_not_exist_yet_is_refused(version: int, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, create=False)
    table.commit({"protocol": {"minReaderVersion": version, "minWriterVersion": 7}}, table.metadata())
    with pytest.raises(errors.UnsupportedFeature, match=f"version {version} of Delta's reader protocol"):
        lakescan.open(table.path).snapshot()


def test_an_unknown_type_is_refused_by_the_name_of_its_column(tmp_path: Path) -> None:
    inside = {"name": "where", "type": "geometry(4326)", "nullable": True, "metadata": {}}
    outside = {"name": "s", "type": {"type": "struct", "fields": [inside]}, "nullable": True, "metadata": {}}
    table = DeltaBuilder(tmp_path, {"type": "struct", "fields": [outside]})
    with pytest.raises(errors.UnsupportedType, match=r"s\.where has the type geometry\(4326\)"):
        lakescan.open(table.path).snapshot()


def test_every_reader_feature_of_the_sample_tables_is_in_one_of_the_lists(sample: Callable[[str], Path]) -> None:
    features = reader_features(sample(table.name) for table in sample_tables("delta"))
    assert features <= {*SUPPORTED, *CATALOG_MANAGED}
    # The others are what Delta Spark 4.4 writes no more, or does not write yet.
    assert features >= {*SUPPORTED} - {"typeWidening-preview", "variantShredding", "variantType-preview"}


def reader_features(tables: Iterable[Path]) -> set[str]:
    return {
        feature
        for table in tables
        for commit in (table / "_delta_log").glob("*.json")
        for line in commit.read_text().splitlines()
        if "readerFeatures" in line
        for feature in (json.loads(line).get("protocol") or {}).get("readerFeatures") or []
    }
