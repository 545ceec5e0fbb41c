"""`lakescan jar`: the path of a JAR for drivers that are not Python."""

import click

from lakescan.cli import output


@click.command(short_help="The path of a JAR for spark-sql and other drivers that are not Python.")
def command() -> None:
    """Print the path of a JAR that lets any Spark driver use Lakescan: spark-sql --jars "$(lakescan jar)".

    It is made for the PySpark (or the SPARK_HOME) of this environment when it is first asked for, and kept.
    """
    from lakescan.spark.jar import jar
    from lakescan.spark.local_query import named_failures, without_the_noise_of_a_start

    with output.working("making the JAR"), named_failures(), without_the_noise_of_a_start():
        path = jar()
    output.line(path)
