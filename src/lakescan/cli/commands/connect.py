"""`lakescan connect`: a Spark Connect server, whose clients need no Lakescan."""

from collections.abc import Mapping, Sequence

import click

from lakescan.cli import output
from lakescan.cli.ending import end_asked_for
from lakescan.cli.parameters import NameAndValue, tables_option
from lakescan.errors import InvalidOption
from lakescan.table_names import NAMES, TableNames, catalog_settings

_CONNECT_PORT = 15002


@click.command(short_help="A Spark Connect server with Lakescan in it.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 is all.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_CONNECT_PORT, show_default=True, help="The port; 0 is any free."
)
@click.option(
    "--conf",
    multiple=True,
    type=NameAndValue(),
    metavar="NAME=VALUE",
    help="A setting of Spark's, as spark.driver.memory=4g; may be given several times.",
)
@tables_option("A table that clients name lake.NAME, or lake.DB.NAME; may be given several times.")
@click.option("--tables", "folder", metavar="FOLDER", help="A folder whose folders are tables, or folders of tables.")
@click.option("--catalog", "file", metavar="FILE", help="A TOML file that names tables.")
def command(
    host: str,
    port: int,
    conf: Sequence[tuple[str, str]],
    tables: Sequence[tuple[str, str]],
    folder: str | None,
    file: str | None,
) -> None:
    """Serve Spark Connect until Ctrl-C or SIGTERM.

    Prints the address for clients, as sc://127.0.0.1:15002, in one line. Clients need pyspark[connect], nothing else.
    """
    from lakescan.spark.connect_server import start_server
    from lakescan.spark.local_query import named_failures, without_the_noise_of_a_start

    given = {f"table.{name}": path for name, path in tables}
    given |= {} if folder is None else {"folder": folder}
    given |= {} if file is None else {"file": file}
    TableNames.of_options(given).check()
    settings = catalog_settings(NAMES, given) if given else {}
    _check_no_other_catalog(settings, dict(conf))
    with output.working("starting Spark"), named_failures(), without_the_noise_of_a_start():
        server = start_server(host, port, settings | dict(conf))
    end = end_asked_for()
    output.line(server.address)
    with named_failures():
        try:
            server.wait(end)
        finally:
            server.stop()


def _check_no_other_catalog(settings: Mapping[str, str], conf: Mapping[str, str]) -> None:
    """Refuse a catalog in which the tables that were named would never be found."""
    other = next((name for name, value in settings.items() if conf.get(name, value) != value), None)
    if other is not None:
        raise InvalidOption(
            f"--conf {other}",
            f"--table, --tables and --catalog name tables in the catalog {NAMES}, which this changes.",
        )
