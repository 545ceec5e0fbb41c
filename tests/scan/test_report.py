import pytest

from lakescan.scan.report import ScanReport, Step


def report(*steps: Step, columns: tuple[str, ...] = ("id", "name"), rows_deleted: int = 0) -> ScanReport:
    return ScanReport("/data/t", 7, "(`id` > 5)", columns, steps, rows_deleted, 1.25)


def test_the_counts_come_from_the_first_and_the_last_step() -> None:
    counts = report(Step("table", 10, 1000), Step("partitions", 6, 600), Step("statistics", 2, 150))
    assert (counts.files_total, counts.files_planned, counts.files_skipped) == (10, 2, 8)
    assert (counts.bytes_total, counts.bytes_planned) == (1000, 150)


def test_a_report_reads_as_what_was_considered_skipped_and_why() -> None:
    text = str(report(Step("table", 10, 5 << 20), Step("statistics", 2, 1536), rows_deleted=4))
    assert text.splitlines() == [
        "scan of /data/t at version 7",
        "  columns: id, name",
        "  filter:  (`id` > 5)",
        "  files:   10 considered, 8 skipped, 2 read (1.5 KiB of 5.0 MiB)",
        "    after statistics: 2 files, 1.5 KiB",
        "  rows dropped by deletion vectors: 4",
        "  planned in 1.2 ms",
    ]


def test_a_scan_of_no_columns_says_that_it_only_counts() -> None:
    assert "(none: only rows are counted)" in str(report(Step("table", 1, 10), columns=()))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1 << 30, "1.0 GiB"), (3 << 40, "3.0 TiB"), (5 << 50, "5120.0 TiB")],
)
def test_sizes_are_written_for_people(count: int, text: str) -> None:
    assert f"({text} of {text})" in str(report(Step("table", 1, count)))
