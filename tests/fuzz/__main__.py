"""`make fuzz`: thousands of damaged reads, in processes that may die, and what became of them.

    python -m tests.fuzz --reads 10000 --seed 7
    python -m tests.fuzz --tables logs_v8,orders
    python -m tests.fuzz --case 7/logs_v8/123        repeats one, and shows where it went wrong

Every finding is printed with the case that repeats it. The exit status is 1 where there is one.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.sample_tables import sample_tables

from .runner import Finding, run
from .samples import Case
from .verdicts import BUGS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reads", type=int, default=10_000, help="how many damaged tables are read")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", help="only these sample tables, with commas between")
    parser.add_argument("--case", help="repeat one case: seed/table/number")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="show every case, not only findings")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakescan-fuzz-") as root:
        if given.case:
            return _repeat(Path(root), Case.of(given.case))
        tables = given.tables.split(",") if given.tables else [table.name for table in sample_tables()]
        cases = spread(tables, given.reads, given.seed)
        return _report(Path(root), cases, given.processes, given.verbose)


def spread(tables: list[str], reads: int, seed: int) -> list[list[Case]]:
    """As many cases of each table, in groups that one process reads one after another."""
    each = [reads // len(tables) + (at < reads % len(tables)) for at in range(len(tables))]
    return [[Case(seed, table, number) for number in range(count)] for table, count in zip(tables, each, strict=True)]


def _repeat(root: Path, case: Case) -> int:
    (finding,) = run(root, [[case]], 1)
    print(finding.shown())
    print(finding.trace)
    return int(finding.outcome in BUGS)


def _report(root: Path, cases: list[list[Case]], processes: int, verbose: bool) -> int:
    began = time.monotonic()
    outcomes: Counter[str] = Counter()
    classes: dict[str, list[Finding]] = {}
    for finding in run(root, cases, processes):
        outcomes[finding.outcome] += 1
        if finding.outcome in BUGS:
            classes.setdefault(finding.kind, []).append(finding)
        if verbose or finding.outcome in BUGS:
            print(finding.shown(), flush=True)
    took = time.monotonic() - began
    total = outcomes.total()
    print(f"\n{total} damaged reads of {len(cases)} tables in {took:.0f} s ({total / took:.0f} a second)")
    for outcome, count in outcomes.most_common():
        print(f"  {count:6d}  {outcome}")
    for kind, findings in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"  {len(findings):6d}  {kind}\n          make fuzz ARGS='--case {findings[0].case}'")
    return int(bool(classes))


if __name__ == "__main__":
    sys.exit(main())
