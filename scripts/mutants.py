"""Puts small faults into a copy of the source, one at a time, and says which tier's tests find each.

A fault's nearest tests run first, then the whole tier: those of `make test`, then all others.

    python scripts/mutants.py                 all faults; `make test` first, then every other test
    python scripts/mutants.py --near          only the nearest tests of each
    python scripts/mutants.py skipping 31     those whose file or number is named

It takes hours where the nearest tests miss much, so it is a tool of releases and no part of CI.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NEWCOMER, _OTHERS = "not spark or core", "spark and not core"
_MOST_SECONDS = 3600


@dataclass(frozen=True)
class Fault:
    """One change of the source, why it is a fault, and the tests that are nearest to it, below `tests`."""

    file: str
    old: str
    new: str
    why: str
    near: str


FAULTS = [
    Fault(
        "predicate/skipping.py",
        "pc.and_(right.may_be_other, _ordered(pc.less, left.lower, right.upper))",
        "pc.and_(right.may_be_other, _ordered(pc.greater, left.lower, right.upper))",
        "a comparison with bounds is turned around",
        "predicate/test_skipping.py",
    ),
    Fault(
        "predicate/skipping.py",
        "may_have_null=pc.and_(has_rows, _unless_no(pc.not_equal(bounds.null_count, 0)))",
        "may_have_null=pc.and_(has_rows, _unless_no(pc.not_equal(bounds.null_count, 1)))",
        "a file with one NULL counts as one without",
        "predicate/test_skipping.py",
    ),
    Fault(
        "predicate/skipping.py",
        "return _YES if bounds.nan_free is None else",
        "return _NO if bounds.nan_free is None else",
        "bounds that say nothing of NaN count as free of it",
        "predicate/test_skipping.py",
    ),
    Fault(
        "predicate/always.py",
        "            return Or(_not_true(left), _not_true(right))",
        "            return And(_not_true(left), _not_true(right))",
        "a file passes AND as a whole where it passes one side",
        "predicate/test_always.py",
    ),
    Fault(
        "types/widening.py",
        "return whole >= old_whole and scale >= old_scale",
        "return whole >= old_whole",
        "a decimal loses digits behind the point",
        "types/test_widening.py",
    ),
    Fault(
        "types/time_zones.py",
        'ambiguous="earliest"',
        'ambiguous="latest"',
        "of two equal local times the later is meant",
        "formats/delta/test_partition_values.py",
    ),
    Fault(
        "types/moments.py",
        '[:6].ljust(6, "0"))',
        '[:6].rjust(6, "0"))',
        "half a second is five microseconds",
        "types formats/delta/test_time_travel.py",
    ),
    Fault(
        "reader/top_rows.py",
        ".slice(0, wanted.count))",
        ".slice(0, wanted.count - 1))",
        "a limit is off by one",
        "scan/test_top_n.py scan/test_spec.py scan/test_any_pushdown.py",
    ),
    Fault(
        "reader/row_groups.py",
        "groups.append(RowGroup(index, first_row, group.num_rows))",
        "groups.append(RowGroup(index, 0, group.num_rows))",
        "every row group begins at the file's first row",
        "reader/test_row_groups.py",
    ),
    Fault(
        "reader/groups.py",
        'if function == "min" else (-numbers, ~nan, owner)',
        'if function == "min" else (-numbers, nan, owner)',
        "NaN is no longer the greatest number",
        "reader/test_groups.py reader/test_aggregate.py",
    ),
    Fault(
        "reader/read_plan.py",
        "return _received, (stream, self.skip_rows, self.from_row)",
        "return _received, (stream, self.skip_rows, 0)",
        "a task forgets on its way to an executor where its first row is",
        "reader/test_read_plan.py spark/test_file_pieces.py",
    ),
    Fault(
        "reader/rebase.py",
        "if smallest is None or smallest >= before:",
        "if smallest is None or smallest >= before - 1:",
        "the last day of the old calendar is not moved",
        "reader/test_rebase.py",
    ),
    Fault(
        "scan/limit.py",
        "return order[: int(np.searchsorted(reached, limit)) + 1]",
        "return order[: int(np.searchsorted(reached, limit))]",
        "a limit opens a file too few",
        "scan/test_limit.py",
    ),
    Fault(
        "scan/limit.py",
        "return by_data == TRUE and live_rows(planned.snapshot, planned.files).null_count == 0",
        "return live_rows(planned.snapshot, planned.files).null_count == 0",
        "an offset counts rows that the filter drops",
        "scan/test_limit.py scan/test_spec.py",
    ),
    Fault(
        "scan/top_n.py",
        "earliest < last if every_column else earliest <= last",
        "earliest < last",
        "ties in the first column of an order drop files",
        "scan/test_top_n.py scan/test_any_pushdown.py",
    ),
    Fault(
        "scan/packing.py",
        "length = np.where(part == counts[owner] - 1, np.iinfo(np.int64).max // 2, longest[owner])",
        "length = np.where(part == counts[owner] - 1, longest[owner] // 2, longest[owner])",
        "the end of a file is in no task",
        "scan/test_packing.py",
    ),
    Fault(
        "scan/kept_answers.py",
        'f"{spec.token} {spec.settings}"',
        'f"{spec.settings}"',
        "a cache's key is too short",
        "scan/test_kept_answers.py",
    ),
    Fault(
        "scan/metadata_aggregates.py",
        "pc.and_(self._can_be(bounds.null_count), pc.invert(self._wide))",
        "self._can_be(bounds.null_count)",
        "a count of NULLs is trusted though rows were deleted",
        "scan/test_metadata_aggregates.py",
    ),
    Fault(
        "formats/delta/data_files.py",
        "return None if vector is None else DeletionVectors",
        "return None if vector is None or vector['cardinality'] == 1 else DeletionVectors",
        "a deletion vector of one row is left out",
        "formats/delta/test_deletion_vector.py formats/delta/test_data_files.py formats/delta",
    ),
    Fault(
        "formats/delta/deletion_vector.py",
        "if zlib.crc32(data) != checksum:",
        "if False:",
        "the checksum of a deletion vector is not looked at",
        "formats/delta/test_deletion_vector.py",
    ),
    Fault(
        "formats/delta/log/time_travel.py",
        "for commit, time in zip(commits, times, strict=True) if time <= moment_ms]",
        "for commit, time in zip(commits, times, strict=True) if time < moment_ms]",
        "the version of just that time is not found by it",
        "formats/delta/test_time_travel.py",
    ),
    Fault(
        "formats/delta/log/checksum.py",
        "if self.files is not None and self.files != sums.files:",
        "if self.files is not None and self.files > sums.files + 1:",
        "a log that lost a file agrees with its checksum",
        "formats/delta/test_checksum.py",
    ),
    Fault(
        "formats/delta/partition_values.py",
        'texts = pc.if_else(pc.equal(texts, ""),',
        'texts = pc.if_else(pc.equal(texts, " "),',
        "an empty partition value is no NULL",
        "formats/delta/test_partition_values.py",
    ),
    Fault(
        "formats/delta/statistics/exact.py",
        "return _only(values, pc.not_equal(pc.microsecond(values), 0))",
        "return values",
        "bounds of times that were cut to the millisecond are trusted",
        "formats/delta/test_exact_bounds.py formats/delta/test_statistics.py scan/test_metadata_aggregates.py",
    ),
    Fault(
        "formats/delta/type_widening.py",
        "64: 20}",
        "64: 18}",
        "a long widens into a decimal that cannot hold it",
        "formats/delta/test_type_widening.py formats/delta/test_schema_changes.py",
    ),
    Fault(
        "formats/delta/stream/offset.py",
        "return Position(self.version + 1)",
        "return Position(self.version + 2)",
        "a stream's offset is one too far",
        "formats/delta/stream/test_delta_stream.py",
    ),
    Fault(
        "formats/delta/stream/commit_files.py",
        'adds = commit.adds.filter(commit.adds["data_change"])',
        "adds = commit.adds",
        "a stream gives compacted files again",
        "formats/delta/stream/test_delta_stream.py",
    ),
    Fault(
        "formats/hudi/timeline/timeline.py",
        "return [one for one in self.instants if one <= instant]",
        "return [one for one in self.instants if one < instant]",
        "the schema of the newest commit is not seen",
        "formats/hudi/test_reads.py formats/hudi/test_kinds.py",
    ),
    Fault(
        "formats/hudi/slices/file_slices.py",
        "None if logs is not None else known.get(path)",
        "known.get(path)",
        "rows of a slice are counted without its log files",
        "formats/hudi/test_metadata_answers.py formats/hudi/test_reads.py",
    ),
    Fault(
        "formats/hudi/stream/hudi_stream.py",
        "if instant > at or (position.before and instant == at))",
        "if instant > at)",
        "a stream leaves out the commit that it starts at",
        "formats/hudi/test_stream.py",
    ),
    Fault(
        "stream/admission.py",
        "most = min(most, max(0, self.limits.files - self.files))",
        "most = min(most, max(0, self.limits.files + 1 - self.files))",
        "a batch takes a file more than its limit",
        "stream formats/delta/stream/test_options.py formats/delta/stream/test_delta_stream.py",
    ),
    Fault(
        "io/storage.py",
        'pc.greater_equal(files["name"], name)',
        'pc.greater(files["name"], name)',
        "a listing leaves out its first name",
        "io/test_storage.py formats/delta/test_log_segment.py",
    ),
    Fault(
        "io/locations.py",
        "return Location(store, unquote(path))",
        "return Location(store, path)",
        "a path in a store is not decoded",
        "io/test_locations.py",
    ),
    Fault(
        "io/secrets.py",
        'value if name in _HARMLESS else HIDDEN}" if equals',
        'value}" if equals',
        "a message shows the signature of a request",
        "io/test_secrets.py",
    ),
    Fault(
        "show/text.py",
        "return _UNSEEN.sub(_code, str(text))",
        "return str(text)",
        "a table's value moves the terminal's cursor",
        "show cli",
    ),
    Fault(
        "cli/exit_codes.py",
        "return USAGE if isinstance(error, ValueError) else FAILED",
        "return FAILED",
        "a wrong version is a fault of Lakescan's to a script",
        "cli/test_main.py",
    ),
    Fault(
        "cli/questions.py",
        "if not columns or len({name.lower() for name, _ in columns}) < len(columns):",
        "if not columns:",
        "a question with a column twice is not left to Spark",
        "cli/test_query.py",
    ),
    Fault(
        "options.py",
        'return given.get(name, "false").strip().lower() == "true"',
        'return given.get(name, "false").strip() == "true"',
        "an option that is TRUE is taken for false",
        "test_options.py formats/delta/stream/test_options.py",
    ),
    Fault(
        "spark/dsv2/pushed_filters.py",
        "if not (wanted.spec.settings.filters and unfailing):",
        "if not wanted.spec.settings.filters:",
        "a filter hides the failure of the one before it",
        "spark/test_filter_order.py spark/test_predicates.py",
    ),
    Fault(
        "spark/dsv2/task_blocks.py",
        'tasks["first"] = begins - np.repeat(first_pieces, np.diff(first_tasks, append=len(begins)))',
        'tasks["first"] = begins - np.repeat(first_pieces, np.diff(first_tasks, append=len(begins))) * 0',
        "tasks of a second block read pieces of others",
        "spark/test_task_blocks.py",
    ),
    Fault(
        "spark/dsv2/stream.py",
        "return self._next(told, Limits())",
        "return self._next(told, self._table.pinned.limits)",
        "Trigger.Once stops at a limit",
        "spark/test_table_streams.py",
    ),
    Fault(
        "spark/bridge/DeletedRows.java",
        "        at = gone + 1;",
        "        at = gone;",
        "a deleted row is read by Spark's own reader",
        "spark/test_deleted_rows.py",
    ),
    Fault(
        "spark/bridge/PushedFilters.java",
        "return new LessThan(left, right);",
        "return new LessThanOrEqual(left, right);",
        "Spark's own reader keeps the row at the bound",
        "spark/test_predicates.py spark/test_page_filter.py spark/test_plain_files.py",
    ),
    Fault(
        "spark/bridge/FilePiece.java",
        "if (!isFile || (saidSize != 0 && saidSize != size)) {",
        "if (!isFile) {",
        "a file that was replaced by another is read",
        "spark/test_plain_files.py",
    ),
    Fault(
        "spark/bridge/StoredColumns.java",
        'version.compareTo("3.1.0") < 0',
        'version.compareTo("2.1.0") < 0',
        "dates of an old calendar are read as they stand",
        "spark/test_plain_files.py",
    ),
    Fault(
        "spark/bridge/StreamScan.java",
        "other instanceof Batches && ((Batches) other).scan.name.equals(scan.name)",
        "other instanceof Batches",
        "two streams are one source to Spark",
        "spark/test_table_streams.py",
    ),
]


def main() -> None:
    """Runs the faults that the command line names; the exit code is how many were missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--near", action="store_true", help="only the nearest tests of each fault")
    parser.add_argument("--newcomer", action="store_true", help="only the tests of `make test`")
    parser.add_argument("which", nargs="*", help="numbers of faults, or parts of their files' names")
    given = parser.parse_args()
    refuse_stale()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="lakescan-faults-") as folder:
        copy = copied(Path(folder) / "lakescan")
        for number, fault in enumerate(FAULTS, start=1):
            if given.which and not any(word == str(number) or word in fault.file for word in given.which):
                continue
            began = time.monotonic()
            tier, test = tried(copy, fault, given.near, given.newcomer)
            found[tier] += 1
            print(
                f"{number:2} {tier:10} {time.monotonic() - began:5.0f} s  {fault.file}: {fault.why}  {test}", flush=True
            )
    print(", ".join(f"{tier}: {count}" for tier, count in found.items()))
    sys.exit(found["missed"])


def refuse_stale() -> None:
    """Ends where a fault's text is no longer in the source, or is there twice."""
    stale = [fault for fault in FAULTS if (source(ROOT, fault)).read_text().count(fault.old) != 1]
    if stale:
        sys.exit("\n".join(f"{fault.file} has this not just once: {fault.old}" for fault in stale))


def source(root: Path, fault: Fault) -> Path:
    return root / "src" / "lakescan" / fault.file


def copied(place: Path) -> Path:
    """A copy of the checkout: the files that git knows, as they are now."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        shutil.copymode(ROOT / name, target)
    return place


def tried(copy: Path, fault: Fault, near_only: bool, newcomer_only: bool) -> tuple[str, str]:
    """Which tier finds a fault, and the test that does."""
    file = source(copy, fault)
    whole = file.read_text()
    file.write_text(whole.replace(fault.old, fault.new))
    try:
        near = [f"tests/{name}" for name in fault.near.split() if (copy / "tests" / name).exists()]
        for tier, marks in (("test", _NEWCOMER), ("check", _OTHERS)):
            if tier == "check" and newcomer_only:
                break
            for chosen in [near] if near_only else [near, ["tests"]]:
                failed = failure(copy, marks, chosen)
                if failed:
                    return tier, failed
        return "missed", ""
    finally:
        file.write_text(whole)


def failure(copy: Path, marks: str, chosen: list[str]) -> str:
    """The first test that fails among those that are chosen, empty where none does."""
    processes = ["--numprocesses", "auto"] if chosen == ["tests"] else []
    options = ["-x", "-p", "no:cacheprovider", "--hypothesis-profile", "unshrunk", "-m", marks]
    command = [sys.executable, "-m", "pytest", *options, *processes, *chosen]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if ran.returncode in (0, 5):  # 5: there was no such test
        return ""
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return names[0] if names else (ran.stdout + ran.stderr)[-200:]


if __name__ == "__main__":
    main()
