import pytest

from lakescan.errors import InvalidSetting, UnknownSetting
from lakescan.scan.settings import Settings, setting_names


def test_everything_is_on_by_default() -> None:
    settings = Settings.of({})
    assert all(getattr(settings, name.split(".")[-1]) for name in setting_names() if ".pushdown." in name)
    assert settings.planning_threads == 4


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_a_switch_is_set_with_and_without_sparks_prefix(prefix: str) -> None:
    assert Settings.of({f"{prefix}lakescan.pushdown.top_n": "False"}) == Settings(top_n=False)


def test_a_read_option_wins_over_a_conf() -> None:
    confs, options = {"lakescan.pushdown.limit": "false"}, {"lakescan.pushdown.limit": True}
    assert Settings.of(confs, options).limit
    assert not Settings.of(options, confs).limit


def test_how_many_bytes_of_statistics_are_kept_is_a_setting() -> None:
    assert Settings.of({"spark.lakescan.planning.kept.bytes": "1000"}).kept_bytes == 1000
    with pytest.raises(InvalidSetting, match="a number of bytes"):
        Settings.of({"lakescan.planning.kept.bytes": "-1"})


def test_the_number_of_planning_threads_is_a_setting() -> None:
    assert Settings.of({"lakescan.planning.threads": 7}).planning_threads == 7
    with pytest.raises(InvalidSetting, match="at least 1"):
        Settings.of({"lakescan.planning.threads": "0"})


def test_tasks_by_partition_are_asked_for() -> None:
    assert not Settings.of({}).by_partition
    assert Settings.of({"spark.lakescan.planning.by_partition": "true"}).by_partition


def test_settings_of_others_are_left_alone() -> None:
    assert Settings.of({"spark.sql.shuffle.partitions": "2", "mergeSchema": "maybe"}) == Settings()


def test_the_interpreter_of_a_driver_that_is_not_python_is_no_setting_of_a_scan() -> None:
    assert Settings.of({"spark.lakescan.python": "/bin/python"}) == Settings()
    with pytest.raises(UnknownSetting):
        Settings.of({"lakescan.python": "/bin/python"})


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownSetting, match=r"lakescan\.pushdown\.agregates.*lakescan\.pushdown\.aggregates"):
        Settings.of({"spark.lakescan.pushdown.agregates": "false"})


def test_a_value_that_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="true or false"):
        Settings.of({"lakescan.pushdown.filters": "off"})
