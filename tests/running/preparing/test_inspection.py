"""What is noted of the arms before they are weighed."""

from __future__ import annotations

import pytest

from steelyard.engines.mysql.settings import SETTING_RULES
from steelyard.engines.postgres.settings import SETTING_RULES as OF_POSTGRES
from steelyard.running.preparing.inspection import bare_settings
from steelyard.running.preparing.needs import idle_settings
from steelyard.study.read import read_study
from steelyard.workloads.reading.scripts import Script


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
