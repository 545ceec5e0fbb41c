"""Run the benchmarks and print one line each. With names, only those: `run.py scan_columns`.

A benchmark is a module beside this one with `run(spark)` that gives its `Result`s. This never fails for being
slow: it prints what was measured and whether that is within the bound. The suites `tpch` and `tpcds` are run by
`tpc/`, where Delta Spark is installed, and only where they are named.
"""

import importlib
import subprocess
import sys
from pathlib import Path

from harness import NotPossible, Result

import lakescan

HERE = Path(__file__).resolve().parent
NOT_BENCHMARKS = {
    "run",
    "harness",
    "hudi_peer",
    "streams_peer",
    "planning_distributed",
    "planning_log",
    "planning_question",
    "planning_results",
    "growth_question",
}
SUITES = ("tpch", "tpcds")
DELTA_SPARK = HERE.parent / ".venv-peers" / "bin" / "python"


def line(result: Result) -> str:
    verdict = "" if result.within else "  over the bound"
    return (
        f"{result.name:<56} {result.lakescan:>9.3f} s {result.peer:>9.3f} s "
        f"{result.ratio:>7.2f} {result.bound:>7.2f}{verdict}"
    )


def main(wanted: list[str]) -> None:
    if wanted and wanted[0] in SUITES:
        if not DELTA_SPARK.exists():
            sys.exit("Delta Spark is not installed here. `make .venv-peers/.installed` installs it.")
        sys.exit(subprocess.run([DELTA_SPARK, "-m", "tpc", *wanted], cwd=HERE, check=False).returncode)
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        sys.exit(f"No benchmark named {', '.join(unknown)}. There are: {', '.join([*known, *SUITES])}.")
    spark = lakescan.session()
    print(f"{'benchmark':<56} {'lakescan':>11} {'peer':>11} {'ratio':>7} {'bound':>7}")
    for name in wanted or known:
        try:
            for result in importlib.import_module(name).run(spark):
                print(line(result), flush=True)
        except NotPossible as missing:
            print(f"{name} is left out. {missing}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
