"""Arms with standbys are weighed, with their lag, are lost where one dies, and leave nothing."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest
from underway import SEVERAL_S, Underway, until

from steelyard.cli.views.verdict_view import render_verdict
from steelyard.engines.cache import open_cache
from steelyard.engines.registry import clean_leftovers
from steelyard.record.reader import read_verdict
from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
PAIR = (
    *("settings", "--set", "workload.scale=1", "--set", "workload.clients=2"),
    *("--set", "control.replication.standbys=1", "--set", "arm.replication.standbys=1"),
    *("--set", "control.settings.synchronous_commit=local"),
    *("--set", "arm.settings.synchronous_commit=remote_apply"),
    *("--set", "layout=slices", "--set", "budget.slice=200ms", "--budget", "20s"),
)
"""Two arms with a standby each."""


def standbys(weighing: Underway) -> list[psutil.Process]:
    """Processes of the standbys of a weighing's cache."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            place = process.cwd()
            if place.startswith(str(weighing.cache)) and "/standby1/" in place:
                found.append(process)
    return found


def lags(record: dict[str, Any]) -> set[str]:
    return {lag["arm"] for lag in record["standbys"]}


def test_waiting_for_a_standby_is_weighed_in_slices_with_the_lag_of_both_arms(
    start: Start,
) -> None:
    weighing = start(
        "record", "replication", "--set", "layout=slices", "--set", "budget.epochs=8",
        "--set", "budget.slice=200ms", "--budget", "20s",
    )  # fmt: skip
    assert weighing.end(SEVERAL_S) == 0, weighing.said
    verdict = weighing.verdict
    assert verdict["differences"]["undeclared"] == []
    assert {name for name, *_ in verdict["differences"]["declared"]} == {"synchronous_commit"}
    assert lags(verdict) == {"local", "remote_write", "on", "remote_apply"}
    assert all(one["verdict"] != "invalid" for one in verdict["contrasts"])
    whole = read_verdict(Record.open(weighing.record))
    assert whole is not None
    text = render_verdict(whole, 80)
    assert "standbys of remote_apply:" in text
    assert standbys(weighing) == []


def test_reads_on_the_standby_are_weighed_against_reads_on_the_primary(start: Start) -> None:
    weighing = start(
        "record", "settings", "--set", 'workload.scripts={ "select-only" = 1 }',
        "--set", "workload.scale=1", "--set", "control.replication.standbys=1",
        "--set", "arm.replication.standbys=1", "--set", "arm.replication.reads=standby",
        "--set", "budget.epochs=8", "--set", "budget.slice=100ms", "--budget", "20s",
    )  # fmt: skip
    assert weighing.end(SEVERAL_S) == 0, weighing.said
    assert {name for name, *_ in weighing.verdict["differences"]["declared"]} == {"replication"}
    assert standbys(weighing) == []


def test_reads_on_a_standby_of_work_that_writes_are_refused(start: Start) -> None:
    weighing = start(
        "record", "settings", "--set", "workload.scale=1",
        "--set", "arm.replication.standbys=1", "--set", "arm.replication.reads=standby",
    )  # fmt: skip
    assert weighing.end() == 2
    assert 'reads on its standby, and script "tpcb-like" writes' in weighing.said
    assert "select-only" in weighing.said


@pytest.mark.parametrize("moment", ["compare the arms", "watch the load settle", "plan: "])
def test_ctrl_c_leaves_no_standby_and_no_delay(start: Start, moment: str) -> None:
    weighing = start(
        "record", "replication", "--set", "layout=slices", "--budget", "20s",
        "--set", "arm.on.replication.round_trip=1ms",
    )  # fmt: skip
    weighing.wait_for(moment)
    until(lambda: bool(standbys(weighing)), "standbys")
    traces = weighing.traces()
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130, weighing.said
    assert traces.left == []
    assert standbys(weighing) == []


def test_killed_at_once_its_standbys_are_ended_by_the_next_weighing(start: Start) -> None:
    weighing = start("record", *PAIR)
    weighing.wait_for("plan: ")
    until(lambda: bool(standbys(weighing)), "standbys")
    traces = weighing.traces()
    weighing.process.kill()
    weighing.process.wait()
    assert standbys(weighing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(weighing.cache))
        clean_leftovers(open_cache())
    assert traces.left == []


def test_an_arm_whose_standby_dies_is_lost_by_name(start: Start) -> None:
    weighing = start("record", *PAIR)
    weighing.in_the_middle_of(1)
    for process in standbys(weighing):
        with suppress(psutil.Error):
            process.kill()
    telemetry = weighing.record / "telemetry.jsonl"
    until(lambda: telemetry.is_file() and bool(telemetry.read_text()), "the end of an epoch")
    [first, *_] = [json.loads(line) for line in telemetry.read_text().splitlines()]
    assert first["outcome"].startswith("crashed: synchronous_commit=")
    assert "standby1 died" in first["error"][0]
    weighing.process.send_signal(signal.SIGINT)
    weighing.end()
    assert standbys(weighing) == []


def test_cycles_hold_standbys_still_with_their_primaries(start: Start) -> None:
    weighing = start(
        "record", *PAIR[:-6], "--set", "layout=cycles", "--set", "turns.time_scale=10",
        "--set", "settings.checkpoint_timeout=5min", "--set", "budget.epochs=2", "--budget", "10m",
    )  # fmt: skip
    assert weighing.end(SEVERAL_S) == 0, weighing.said
    plan = json.loads((weighing.record / "plan.json").read_text())
    assert "wal_sender_timeout 2 min, 2 times its 1 min" in plan["turns"]["timers"]
    assert lags(weighing.verdict) == {one["arm"] for one in weighing.verdict["standbys"]}
    names = {one["name"] for one in weighing.verdict["contrasts"][0]["threats"]}
    assert "not held still" not in names
    assert standbys(weighing) == []
