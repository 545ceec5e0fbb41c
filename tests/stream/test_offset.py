import pytest

from lakescan.errors import InvalidOffset
from lakescan.stream.offset import FORMAT, not_begun, parsed


def test_a_stream_that_has_not_begun_has_nothing_but_the_format() -> None:
    assert parsed(not_begun(), dict) is None
    assert parsed({**not_begun(), "at": 3}, lambda offset: offset["at"]) == 3


@pytest.mark.parametrize("offset", [{}, {"lakescanOffset": FORMAT + 1}, {"lakescanOffset": FORMAT, "other": 1}])
def test_an_offset_that_is_not_understood_is_refused_and_never_a_beginning(offset: dict[str, int]) -> None:
    with pytest.raises(InvalidOffset):
        parsed(offset, lambda known: known["at"])
