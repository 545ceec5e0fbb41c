import pytest

from lakescan.errors import InvalidOffset
from lakescan.stream.offset import FORMAT, not_begun, parsed


def test_a_stream_that_has_not_begun_has_nothing_but_the_format() -> None:
    assert parsed(not_begun(), dict) is None
    assert parsed({**not_begun(), "at": 3}, lambda found: found["at"]) == 3


@pytest.mark.parametrize("found", [{}, {"lakescanOffset": FORMAT + 1}, {"lakescanOffset": FORMAT, "other": 1}])
def test_an_offset_that_is_not_understood_is_refused_and_never_a_beginning(found: dict[str, int]) -> None:
    with pytest.raises(InvalidOffset):
        parsed(found, lambda known: known["at"])
