"""Names given one by one, by a folder and by a file; what cannot be a name or a file of names is refused."""

from pathlib import Path

import pyarrow as pa
import pytest

from lakescan.errors import InvalidName, InvalidOption, TableNotFound
from lakescan.io.storage import Storage
from lakescan.table_names import NamedTable, TableNames
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a table, a namespace of two tables, a namespace in that, and what is neither."""
    for place in ("orders", "sales/Trips", "sales/cars", "sales/old/parts"):
        DeltaBuilder(tmp_path / place, SCHEMA)
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "a file").write_text("")
    (tmp_path / "with space").mkdir()
    return tmp_path


def test_a_folders_tables_and_namespaces_are_its_folders(lake: Path) -> None:
    names = TableNames.of_options({"folder": str(lake)})
    assert names.tables((), Storage.at) == names.tables(("default",), Storage.at) == ["orders"]
    assert names.namespaces((), Storage.at) == [("default",), ("sales",)]
    assert names.tables(("sales",), Storage.at) == ["Trips", "cars"]
    assert names.namespaces(("sales",), Storage.at) == [("sales", "old")]
    assert names.namespaces(("default",), Storage.at) == []
    assert names.find(("sales", "old"), "parts", Storage.at) == NamedTable(str(lake / "sales/old/parts"))
    assert names.find((), "orders", Storage.at) == NamedTable(str(lake / "orders"))


def test_a_table_that_is_written_later_is_seen(lake: Path) -> None:
    names = TableNames.of_options({"folder": str(lake)})
    assert names.find((), "new", Storage.at) is None
    DeltaBuilder(lake / "new", SCHEMA)
    assert names.find((), "new", Storage.at) is not None
    assert "new" in names.tables((), Storage.at)


def test_letter_case_does_not_matter_where_one_folder_has_the_name(lake: Path) -> None:
    names = TableNames.of_options({"folder": str(lake)})
    assert names.find(("SALES",), "trips", Storage.at) == NamedTable(str(lake / "sales/Trips"))
    DeltaBuilder(lake / "sales/TRIPS", SCHEMA)
    assert names.find(("sales",), "trips", Storage.at) is None
    assert names.find(("sales",), "TRIPS", Storage.at) == NamedTable(str(lake / "sales/TRIPS"))


@pytest.mark.parametrize("name", ["..", "../orders", "sales/cars", "", ".", "a\nb"])
def test_a_name_leads_nowhere_but_down_its_own_folder(lake: Path, name: str) -> None:
    names = TableNames.of_options({"folder": str(lake / "sales")})
    assert names.find((), name, Storage.at) is None
    assert names.find((name,), "orders", Storage.at) is None


def test_a_given_name_comes_before_a_folders(lake: Path) -> None:
    names = TableNames.of_options({"folder": str(lake), "table.Orders": "/x", "table.more.Parts": "/y"})
    assert names.find((), "ORDERS", Storage.at) == NamedTable("/x")
    assert names.find(("More",), "parts", Storage.at) == NamedTable("/y")
    assert names.namespaces((), Storage.at) == [("default",), ("more",), ("sales",)]
    assert names.tables(("more",), Storage.at) == ["parts"]
    assert names.has_namespace(("more",), Storage.at)
    assert names.has_namespace(("sales", "old"), Storage.at)
    assert not names.has_namespace(("orders",), Storage.at), "a table is no namespace"
    assert not names.has_namespace(("nowhere",), Storage.at)


def test_a_file_names_tables_namespaces_options_and_a_folder(lake: Path) -> None:
    file = lake / "catalog.toml"
    file.write_text(
        """
        folder = "sales"
        [tables]
        orders = "orders"
        far = "s3://bucket/far"
        "archive.orders" = { path = "/o", versionAsOf = 3, "lakescan.pushdown.limit" = false }
        [tables.archive.inner]
        cars = "/c"
        """
    )
    names = TableNames.of_options({"file": str(file)})
    assert names.find((), "orders", Storage.at) == NamedTable(str(lake / "orders"))
    assert names.find((), "far", Storage.at) == NamedTable("s3://bucket/far")
    options = {"versionAsOf": "3", "lakescan.pushdown.limit": "false"}
    assert names.find(("archive",), "orders", Storage.at) == NamedTable("/o", options)
    assert names.find(("archive", "inner"), "cars", Storage.at) == NamedTable("/c")
    assert names.find((), "cars", Storage.at) == NamedTable(str(lake / "sales/cars"))
    assert names.namespaces(("archive",), Storage.at) == [("archive", "inner")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tables = 3", "folder is a text and"),
        ("folder = 3", "folder is a text and"),
        ("[tables]\norders = 3", "orders is neither a path nor a table of names"),
        ("[table]\norders = '/o'", "has the key 'table'"),
        ("orders", "is no TOML"),
    ],
)
def test_a_file_that_is_written_otherwise_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "catalog.toml"
    file.write_text(text)
    with pytest.raises(InvalidOption, match=words):
        TableNames.of_options({"file": str(file)})


def test_an_option_that_no_catalog_has_is_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match="foldr"):
        TableNames.of_options({"foldr": "/x"})
    with pytest.raises(InvalidName, match="'a/b'"):
        TableNames.of_options({"table.a/b": "/x"})


def test_checking_opens_every_given_table(lake: Path) -> None:
    TableNames.of_options({"folder": str(lake), "table.a": str(lake / "orders")}).check()
    with pytest.raises(TableNotFound):
        TableNames.of_options({"table.a": str(lake / "with space")}).check()
    with pytest.raises(InvalidOption, match="is no folder"):
        TableNames.of_options({"folder": str(lake / "none")}).check()
