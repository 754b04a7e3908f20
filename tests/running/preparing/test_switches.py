"""A setting that does nothing while another one is off makes no difference: arms that differ in it
alone are equal, and are refused with what to type."""

from __future__ import annotations

import pytest

from steelyard.engines.differences import compare
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.running.preparing.needs import IdleSetting, idle_settings
from steelyard.study.read import read_study
from steelyard.workloads.reading.scripts import Script

READS = Script("reads", "SELECT 1;", 1, None, writes=False)
USUAL = {
    "autovacuum": "on", "archive_mode": "off", "commit_delay": "0", "fsync": "on", "geqo": "on",
    "huge_pages": "try", "io_method": "worker", "jit": "on", "log_min_duration_sample": "-1 ms",
    "max_parallel_workers": "8", "max_parallel_workers_per_gather": "2",
    "synchronous_commit": "on", "synchronous_standby_names": "",
}  # fmt: skip
"""As PostgreSQL 18 reports them with nothing set."""


def idle_of(
    arm: dict[str, str],
    every: dict[str, str] | None = None,
    control: dict[str, str] | None = None,
    script: Script = READS,
) -> dict[str, IdleSetting]:
    """What has no effect where the arm, all arms and the control have these settings."""
    changes = [
        *(f"settings.{name}={value}" for name, value in (every or {}).items()),
        *(f"control.settings.{name}={value}" for name, value in (control or {}).items()),
        *(f"arm.settings.{name}={value}" for name, value in arm.items()),
    ]
    study = read_study("settings", changes)
    reported = {each.name: {**USUAL, **study.settings_of(each)} for each in study.every_arm}
    return idle_settings(study, reported, SETTING_RULES, [script])[study.arms[0].name]


@pytest.mark.parametrize(
    ("arm", "every", "why", "hint"),
    [
        ({"autovacuum_naptime": "10s"}, {"autovacuum": "off"}, "autovacuum is off",
         "Switch it on: --set settings.autovacuum=on"),
        ({"log_autovacuum_min_duration": "0"}, {"autovacuum": "off"}, "autovacuum is off", ""),
        ({"geqo_effort": "9"}, {"geqo": "off"}, "geqo is off", ""),
        ({"jit_above_cost": "0"}, {"jit": "off"}, "jit is off", ""),
        ({"commit_siblings": "1"}, {}, "commit_delay is 0", "commit_delay=10"),
        ({"commit_delay": "50"}, {"fsync": "off"}, "fsync is off", ""),
        ({"wal_sync_method": "fsync"}, {"fsync": "off"}, "fsync is off", ""),
        ({"archive_library": "basic_archive"}, {}, "archive_mode is off", ""),
        ({"io_workers": "8"}, {"io_method": "sync"}, "io_method is sync", "io_method=worker"),
        ({"io_max_workers": "8"}, {"io_method": "io_uring"}, "io_method is io_uring", ""),
        ({"huge_page_size": "1GB"}, {"huge_pages": "off"}, "huge_pages is off", ""),
        ({"log_statement_sample_rate": "0.1"}, {}, "log_min_duration_sample is -1 ms", ""),
        ({"parallel_tuple_cost": "0"}, {"max_parallel_workers_per_gather": "0"},
         "max_parallel_workers_per_gather is 0", ""),
        ({"synchronous_commit": "local"}, {}, "synchronous_standby_names is empty",
         "steelyard weigh replication"),
        ({"synchronous_commit": "remote_apply"}, {}, "synchronous_standby_names is empty", ""),
    ],
)  # fmt: skip
def test_what_does_nothing_while_another_setting_is_off_has_no_effect(
    arm: dict[str, str], every: dict[str, str], why: str, hint: str
) -> None:
    [(name, idle)] = idle_of(arm, every).items()
    assert name in arm
    assert idle.why == why
    assert hint in idle.hint


@pytest.mark.parametrize(
    ("arm", "every", "control"),
    [
        ({"autovacuum_naptime": "10s"}, {}, {}),
        ({"autovacuum": "off"}, {}, {}),
        ({"jit_above_cost": "0"}, {}, {}),
        ({"jit_above_cost": "0"}, {}, {"jit": "off"}),  # they differ in the switch as well
        ({"commit_siblings": "1"}, {"commit_delay": "10"}, {}),
        ({"commit_delay": "50"}, {}, {}),
        ({"archive_library": "basic_archive"}, {"archive_mode": "on"}, {}),
        ({"archive_timeout": "1min"}, {}, {}),  # acts without an archive, too
        ({"io_workers": "8"}, {}, {}),
        ({"max_parallel_workers_per_gather": "4"}, {}, {}),
        # Plans are parallel without a worker as well.
        ({"max_parallel_workers_per_gather": "4"}, {"max_parallel_workers": "0"}, {}),
        ({"synchronous_commit": "off"}, {}, {}),
        ({"synchronous_commit": "local"}, {}, {"synchronous_commit": "off"}),
        ({"wal_compression": "pglz"}, {"full_page_writes": "off"}, {}),  # images for hint bits
    ],
)  # fmt: skip
def test_what_has_an_effect_is_left(
    arm: dict[str, str], every: dict[str, str], control: dict[str, str]
) -> None:
    assert idle_of(arm, every, control) == {}


def test_a_commit_that_waits_for_standbys_is_no_other_word_for_one_that_does_not() -> None:
    study = read_study("settings", ["arm.settings.synchronous_commit=local"])
    waits = {**USUAL, "synchronous_standby_names": "FIRST 1 (standby1)"}
    reported = {each.name: {**waits, **study.settings_of(each)} for each in study.every_arm}
    assert idle_settings(study, reported, SETTING_RULES, [READS])[study.arms[0].name] == {}


def test_a_script_may_switch_it_on() -> None:
    script = Script("sets", "SET jit = on; SELECT 1;", 1, None, writes=False)
    assert idle_of({"jit_above_cost": "0"}, {"jit": "off"}, script=script) == {}


def test_standbys_that_differ_are_no_reason_for_another_way_of_committing() -> None:
    control = {"synchronous_standby_names": "", "synchronous_commit": "on"}
    arm = {"synchronous_standby_names": "*", "synchronous_commit": "off"}
    differences = compare(control, arm, {"synchronous_standby_names"}, SETTING_RULES)
    assert [name for name, *_ in differences.undeclared] == ["synchronous_commit"]
