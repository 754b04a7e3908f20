"""What is noted of the arms before they are weighed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.engines.differences import SettingRules
from steelyard.engines.mysql.settings import SETTING_RULES
from steelyard.engines.postgres.settings import SETTING_RULES as OF_POSTGRES
from steelyard.model.errors import UsageError, WeighingError
from steelyard.running.preparing.inspection import _inspect, _require_unlike, bare_settings
from steelyard.running.preparing.needs import idle_settings
from steelyard.study.read import read_study
from steelyard.workloads.reading.scripts import Script
from story.asked import study_of
from story.noop.journal import NOOP_IDENTITY


def test_a_setting_without_its_unit_is_said_with_what_the_server_takes_it_for() -> None:
    settings = ("shared_buffers=128", "work_mem=64MB", "jit=off", "temp_buffers=0")
    study = read_study(
        "settings", [*(f"settings.{one}" for one in settings), "arm.settings.checkpoint_timeout=90"]
    )
    reported = {
        "shared_buffers": "128 8kB", "work_mem": "65536 kB", "jit": "off", "temp_buffers": "0 8kB",
        "max_connections": "300",
    }  # fmt: skip
    control, arm = (one.name for one in study.every_arm)
    every = {control: reported, arm: {**reported, "checkpoint_timeout": "90 s"}}
    assert list(bare_settings(study, every)) == [
        "shared_buffers = 128 has no unit: the server takes 128 × 8kB",
        "checkpoint_timeout = 90 has no unit: the server takes 90 s",
    ]


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (None, "weigh equal arms as such"),
        (
            {"place": "/data/18"},
            """--set 'sql=["ALTER DATABASE steelyard RESET jit", "ALTER ROLE ALL RESET jit"]'""",
        ),
    ],
)
def test_arms_to_whose_sessions_the_database_gives_one_value_are_equal(
    source: dict[str, str] | None, hint: str
) -> None:
    """ALTER DATABASE shop SET jit = off counts more than what servers are started with."""
    study = study_of(
        control={"name": "before", "settings": {"jit": "on"}},
        arms=[{"name": "after", "settings": {"jit": "off"}}],
        source=source,
    )
    reported = {"jit": "off"}
    with pytest.raises(UsageError, match="after and before are equal: jit is off in both") as error:
        _require_unlike(study, study.arms[0], {"jit"}, reported, reported, str.lower, {})
    assert hint in str(error.value.hint)


@pytest.mark.parametrize("statement", ["ALTER DATABASE steelyard SET Jit = off", "ANALYZE"])
def test_what_an_arms_own_sql_sets_for_its_database_is_a_declared_difference(
    statement: str,
) -> None:
    study = study_of(control={"name": "before"}, arms=[{"name": "after", "sql": [statement]}])
    settings = {"before": {"jit": "on"}, "after": {"jit": "off"}}
    identities = dict.fromkeys(settings, NOOP_IDENTITY)
    arms = SimpleNamespace(settings=settings, identities=identities, idle={})
    slots = SimpleNamespace(setting_rules=SettingRules(), residency="slices")
    builds = SimpleNamespace(declared=lambda name: set())
    setup = SimpleNamespace(study=study, slots=slots, builds=builds)
    if "jit" in statement.lower():
        inspected = _inspect(cast(Any, setup), cast(Any, arms), study.arms[0])
        assert ("jit", "on", "off") in inspected.differences.declared
    else:
        with pytest.raises(WeighingError, match="they differ where the study does not declare it"):
            _inspect(cast(Any, setup), cast(Any, arms), study.arms[0])


OFF = {
    "log_bin": "OFF",
    "query_cache_type": "OFF",
    "slow_query_log": "OFF",
    "thread_handling": "one-thread-per-connection",
}
"""As MariaDB's servers begin."""


@pytest.mark.parametrize(
    ("changes", "control", "arm", "idle"),
    [
        (["arm.settings.sync_binlog=0"], OFF, OFF, {"sync_binlog"}),
        (["control.settings.Loose-Sync-Binlog=1"], OFF, OFF, {"sync_binlog"}),
        (  # also beside what acts
            ["arm.settings.binlog_format=ROW", "arm.settings.innodb_io_capacity=400"],
            OFF, OFF, {"binlog_format"},
        ),
        (["arm.settings.log_slow_query_time=0"], OFF, OFF, {"long_query_time"}),
        (["arm.settings.thread_pool_size=8"], OFF, OFF, {"thread_pool_size"}),
        (["arm.settings.query_cache_size=64M"], OFF, OFF, {"query_cache_size"}),
        (["arm.settings.query_cache_size=64M"], OFF, {**OFF, "query_cache_type": "ON"}, set()),
        (["arm.settings.query_cache_type=ON"], OFF, OFF, set()),
        (["arm.settings.sync_binlog=0"], {"log_bin": "ON"}, {"log_bin": "ON"}, set()),
        (["settings.sync_binlog=0", "arm.settings.innodb_io_capacity=400"], OFF, OFF, set()),
        (["arm.settings.sync_binlog=0"], {}, {}, set()),
        (["arm.settings.long_query_time=0", "arm.sql=SET GLOBAL slow_query_log = ON"],
         OFF, OFF, set()),
    ],
)  # fmt: skip
def test_a_setting_whose_switch_is_off_in_both_arms_has_no_effect(
    changes: list[str], control: dict[str, str], arm: dict[str, str], idle: set[str]
) -> None:
    """Their servers report the difference, and do the same."""
    study = read_study("settings", ["engine=mysql", "workload.name=tpcb-like", *changes])
    [alone] = study.arms
    reads = Script("reads", "SELECT 1;", 1, None, writes=False)
    reported = {study.control.name: control, alone.name: arm}
    assert {*idle_settings(study, reported, SETTING_RULES, [reads])[alone.name]} == idle
    assert idle_settings(study, reported, OF_POSTGRES, [reads]) == {alone.name: {}}
