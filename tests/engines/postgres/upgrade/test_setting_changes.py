"""Settings that are otherwise in the new version are named, and defaults that changed."""

from __future__ import annotations

from steelyard.engines.intake import Neutralised, ServerSettings
from steelyard.engines.postgres.upgrade.findings import setting_changes
from steelyard.engines.postgres.upgrade.outcome import SettingChange
from steelyard.model.identity import BuildDefaults, Default

OLD = BuildDefaults(
    {},
    {
        "effective_io_concurrency": Default("1", "", "user"),
        "work_mem": Default("4096", "kB", "user"),
        "io_workers": Default("3", "", "sighup"),
        "server_version": Default("18.4", "", "internal"),
        "jit": Default("on", "", "user"),
    },
)
NEW = BuildDefaults(
    {},
    {
        "effective_io_concurrency": Default("16", "", "user"),
        "work_mem": Default("4096", "kB", "user"),
        "wal_level": Default("replica", "", "postmaster"),
        "server_version": Default("19.0", "", "internal"),
        "jit": Default("off", "", "user"),
    },
)


def changes(
    offered: dict[str, str], new: dict[str, str], refused: frozenset[str] = frozenset()
) -> list[SettingChange]:
    return list(setting_changes(ServerSettings(offered), refused, ServerSettings(new), OLD, NEW))


def test_what_the_new_version_does_not_know_is_gone_or_renamed() -> None:
    offered = {"io_workers": "8", "old_snapshot_threshold": "60", "work_mem": "8MB"}
    named = {each.name: each for each in changes(offered, {"work_mem": "8MB"})}
    assert named["io_workers"].kind == "renamed"
    assert "io_max_workers" in named["io_workers"].new
    assert named["old_snapshot_threshold"].kind == "removed"
    assert "work_mem" not in named


def test_a_value_that_it_does_not_take_is_another_thing_than_a_name() -> None:
    [change] = [each for each in changes({"wal_level": "hot"}, {}) if each.kind != "default"]
    assert (change.name, change.kind) == ("wal_level", "value")


def test_what_its_own_version_refuses_here_too_is_no_change() -> None:
    assert [each.kind for each in changes({"odd": "1"}, {}, frozenset({"odd"}))] == [
        "default",
        "default",
    ]


def test_what_a_copy_is_not_given_is_compared_by_name() -> None:
    old = BuildDefaults({}, {
        name: Default("", "", "sighup")
        for name in ("promote_trigger_file", "stats_temp_directory", "port", "TimeZone")
    })  # fmt: skip
    new = BuildDefaults({}, {name: Default("", "", "sighup") for name in ("port", "TimeZone")})
    left_out = tuple(
        Neutralised(what, "")
        for what in (
            "promote_trigger_file",
            "stats_temp_directory",
            "port",
            "the last command line",
        )
    )
    offered = ServerSettings({"timezone": "US/Pacific", "odd": "1"}, left_out)
    found = setting_changes(offered, frozenset({"odd"}), ServerSettings({}), old, new)
    assert {each.name: each.kind for each in found} == {
        "timezone": "value",
        "promote_trigger_file": "renamed",
        "stats_temp_directory": "removed",
    }


def test_what_the_new_version_lacks_is_named_though_the_old_build_here_refuses_it() -> None:
    offered = {"io_workers": "no number"}
    named = {each.name: each.kind for each in changes(offered, {}, frozenset(offered))}
    assert named["io_workers"] == "renamed"


def test_libraries_that_the_new_build_lacks_are_named() -> None:
    offered = {"shared_preload_libraries": "pg_cron, pg_stat_statements"}
    new = {"shared_preload_libraries": "pg_stat_statements"}
    [change] = [each for each in changes(offered, new) if each.kind == "library"]
    assert change.old == "pg_cron"
    lost = changes({"shared_preload_libraries": "theirs"}, {}, frozenset({*offered}))
    assert [each.old for each in lost if each.kind == "library"] == ["theirs"]


def test_defaults_change_under_those_who_do_not_set_them() -> None:
    by_name = {each.name: each for each in changes({"jit": "on"}, {"jit": "on"})}
    assert by_name["effective_io_concurrency"] == SettingChange(
        "effective_io_concurrency", "default", "1", "16", configured=False
    )
    assert by_name["jit"].configured
    assert set(by_name) == {"effective_io_concurrency", "jit"}
