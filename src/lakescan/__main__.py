"""`python -m lakescan` is the command `lakescan`."""

from lakescan.cli.main import run

if __name__ == "__main__":
    run()
