import pytest

from lakescan.show.text import age, count, duration, listed, shown, shown_lines, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, ünïcödé 漢字 🙂", "plain, ünïcödé 漢字 🙂"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("gpj.\u202etxt", "gpj.\\u202etxt"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_a_character_that_a_terminal_acts_on_is_shown_by_its_code(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_lines_stay_lines_where_that_is_wanted() -> None:
    assert shown_lines("a\nb\x1b") == "a\nb\\x1b"


def test_numbers_are_as_people_write_them() -> None:
    assert [count(1, "files"), count(1234, "files"), count(5)] == ["1 file", "1,234 files", "5"]
    assert [size(0), size(1023), size(1536), size(5 << 40), size(5 << 50)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 TiB",
        "5120.0 TiB",
    ]
    assert [duration(1.25), duration(1500)] == ["1.2 ms", "1.5 s"]
    assert [age(0.5), age(1), age(7200), age(86_400 * 3)] == ["just now", "1 second ago", "2 hours ago", "3 days ago"]


def test_a_long_list_ends_with_how_many_are_left() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"
