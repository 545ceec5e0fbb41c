"""The table of options: no option is ignored, and the page about them says what the code says."""

import subprocess
import sys
from pathlib import Path

import pytest

from lakescan.errors import InvalidOption, UnknownOption
from lakescan.formats.registry import FORMATS, checked, options_of, state_options
from lakescan.options import Read, is_true
from lakescan.scan.settings import setting_names

ROOT = Path(__file__).parents[1]
BATCH = (Read.BATCH, Read.CHANGES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("versionAsof1", "versionAsOf"),
        ("pushdown.limit", "lakescan.pushdown.limit"),
        ("readChangesFeed", "readChangeFeed"),
        ("startVersion", "startingVersion"),
    ],
)
def test_a_mistyped_option_is_refused_with_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(UnknownOption, match=f"The option {name} cannot be used: .*Did you mean .*{meant}"):
        checked({name: "1"}, "delta", *BATCH)


def test_where_none_is_near_the_options_of_that_read_are_listed() -> None:
    with pytest.raises(UnknownOption) as caught:
        checked({"qqq": "1"}, "delta", *BATCH)
    assert "versionAsOf" in str(caught.value)
    assert "maxFilesPerTrigger" not in str(caught.value)


def test_names_are_found_in_any_case_and_by_their_other_names() -> None:
    given = checked({"VERSIONASOF": 3, "readchangedata": True}, "delta", *BATCH)
    assert given == {"versionAsOf": "3", "readChangeFeed": "True"}


def test_one_option_by_two_names_and_two_values_is_refused() -> None:
    with pytest.raises(InvalidOption, match="given twice"):
        checked({"readChangeFeed": "true", "readChangeData": "false"}, "delta", *BATCH)


def test_an_option_of_another_read_is_refused_with_which() -> None:
    with pytest.raises(InvalidOption, match="maxFilesPerTrigger cannot be used: it is an option of a stream"):
        checked({"maxfilespertrigger": "1"}, "delta", *BATCH)
    with pytest.raises(InvalidOption, match="it is an option of a batch"):
        checked({"versionAsOf": "1"}, "delta", Read.STREAM)


def test_an_option_of_another_format_is_refused_with_which() -> None:
    with pytest.raises(InvalidOption, match="option of hudi tables, and this is a delta table"):
        checked({"as.of.instant": "20240101000000"}, "delta", *BATCH)


def test_a_value_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidOption, match="'maybe' is neither 'true' nor 'false'"):
        checked({"mergeSchema": "maybe"}, "delta", *BATCH)


@pytest.mark.parametrize(("text", "meant"), [("true", True), (" TRUE ", True), ("True", True), ("FALSE", False)])
def test_true_and_false_are_read_in_any_case(text: str, meant: bool) -> None:
    given = checked({"ignoreChanges": text}, "delta", Read.STREAM)
    assert is_true(given, "ignoreChanges") == meant
    assert not is_true({}, "ignoreChanges")


def test_every_setting_is_an_option_of_every_format_and_no_two_share_a_name() -> None:
    for known in (options_of(format_.name) for format_ in FORMATS):
        names = [name.lower() for option in known.known for name in option.names]
        assert len(names) == len(set(names))
        assert {name.lower() for name in setting_names()} <= set(names)
        assert all(option.says.endswith(".") for option in known.known)
    assert {"readChangeData", "as.of.instant"} <= set(state_options())


def test_the_page_of_options_says_what_the_code_says() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "options_page.py", "--check"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
