"""The timeline is listed once for a snapshot, and whatever is asked of it is true of that one moment."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import UnsupportedFeature
from lakescan.formats.hudi.timeline.timeline_listing import CLUSTERING, TimelineListing
from lakescan.io.storage import Entry, Storage

from .builder import HudiBuilder

ROW = pa.table({"id": pa.array([1], pa.int64())})
OF_THE_TIMELINE = (".hoodie", ".hoodie/timeline")


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder was listed through `Storage`."""
    counts: Counter[str] = Counter()
    list_from = Storage.list_from

    def counted(self: Storage, folder: str, name: str = "") -> list[Entry]:
        counts[folder] += 1
        return list_from(self, folder, name)

    monkeypatch.setattr(Storage, "list_from", counted)
    return counts


def of_the_timeline(listed: Counter[str]) -> int:
    count = sum(listed[folder] for folder in OF_THE_TIMELINE)
    listed.clear()
    return count


def test_a_snapshot_and_its_plan_list_the_timeline_once_and_look_again_twice(
    tmp_path: Path, listed: Counter[str]
) -> None:
    builder = HudiBuilder(tmp_path / "table")
    first = builder.upsert(1, ROW)
    table = lakescan.open(builder.path)
    snapshot = table.snapshot()
    # The listing, and the look whether a commit has ended while hudi-rs looked.
    assert of_the_timeline(listed) == 2
    snapshot.scan().filter("id > 0").build().files()
    # The look whether files were cleaned away since.
    assert of_the_timeline(listed) == 1
    snapshot.scan().build().to_arrow()
    assert of_the_timeline(listed) == 0
    table.snapshot().scan().build().files()
    assert of_the_timeline(listed) == 1
    builder.upsert(1, ROW)
    table.snapshot(version=first)
    assert of_the_timeline(listed) == 2


@pytest.mark.parametrize("name", ["log_only_v9", "logs_v8", "logs_v6"])
def test_log_files_need_no_listing_more(name: str, unpack: Callable[[str], Path], listed: Counter[str]) -> None:
    path = unpack(name)
    table = lakescan.open(path)
    table.snapshot().scan().build().files()
    assert of_the_timeline(listed) == 3
    table.snapshot().scan().build().files()
    assert of_the_timeline(listed) == 1


def test_a_write_that_begins_after_the_listing_is_not_part_of_it(tmp_path: Path) -> None:
    builder = HudiBuilder(tmp_path / "table")
    done = builder.upsert(1, ROW)
    timeline = lakescan.open(builder.path).snapshot().timeline  # type: ignore[attr-defined]
    later = builder.begin()
    assert timeline.listing.unfinished() == set()
    assert timeline.listing.writing() == [done]
    assert timeline.listing.again().unfinished() == {later}


NAMES = (
    *("001.commit.requested", "001.inflight", "001.commit"),
    *("002_005.deltacommit", "002.deltacommit.inflight", "002.deltacommit.requested"),
    *("003.clustering.requested", "004.replacecommit.requested", "004.replacecommit.inflight"),
    *("006.inflight", "006.commit.requested", "007_008.clean", "hoodie.properties", ".aux"),
    *("002.savepoint.inflight", "002_009.savepoint"),
)


def listing(*names: str) -> TimelineListing:
    return TimelineListing(Storage("/t"), {}, tuple(Entry(name, 1, 1) for name in names))


def test_names_tell_what_is_finished_what_is_under_way_and_when_it_ended() -> None:
    timeline = listing(*NAMES)
    assert {instant: entry.name for instant, entry in timeline.finished.items()} == {
        "001": "001.commit",
        "002": "002_005.deltacommit",
    }
    # The savepoint of a commit ends when it does.
    assert timeline.completions == {"002": "005"}
    assert timeline.unfinished() == {"003", "004", "006"}
    assert timeline.unfinished(CLUSTERING | {"replacecommit"}) == {"003", "004"}
    assert timeline.writing() == ["001", "002", "004", "006"]
    assert timeline.writing(CLUSTERING) == ["001", "002", "003", "004", "006"]
    assert timeline == listing(*NAMES) != listing(*NAMES[1:])


def test_an_action_that_hudi_does_not_have_is_refused(tmp_path: Path) -> None:
    builder = HudiBuilder(tmp_path / "table")
    builder.upsert(1, ROW)
    (builder.path / ".hoodie" / "20990101000000000.teleport").touch()
    with pytest.raises(UnsupportedFeature, match=r"the action 'teleport' of its timeline \(20990101000000000.teleport"):
        TimelineListing.of(Storage.at(builder.path), {})
