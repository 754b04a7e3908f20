"""Cycles on real servers: arms stand still, timers are in own time, torn epochs are resumed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest
from underway import SEVERAL_S, Underway, until

from steelyard.record.reader import read_recorded, read_verdict
from steelyard.record.record import Record
from steelyard.verdict.rejudge import differences, rejudge

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
STUDY = """\
title = "Do three arms stand still for one another?"
question = "What does a third arm change?"
[control]
name = "off"
[control.settings]
wal_compression = "off"
[[arm]]
name = "pglz"
[arm.settings]
wal_compression = "pglz"
[[arm]]
name = "hints"
[arm.settings]
wal_log_hints = "on"
[settings]
checkpoint_timeout = "30s"
max_wal_size = "8GB"
autovacuum_naptime = "10s"
idle_session_timeout = "10min"
[workload]
name = "pgbench"
scripts = { "tpcb-like" = 1 }
scale = 1
clients = 2
[turns]
measured = "10s"
[budget]
cycles = "60m"
epochs = 2
"""


def epochs_of(record: Record) -> list[dict[str, Any]]:
    return [one for one in record.lines("telemetry.jsonl") if one["type"] == "epoch"]


def test_three_arms_are_weighed_each_in_its_own_time_and_goes_on_after_ctrl_c(start: Start) -> None:
    weighing = start("record", "three.toml", "--set", "layout=cycles", "--seed", "5", study=STUDY)
    weighing.wait_for("epoch 2 of 2: measure")
    until(lambda: len(weighing.slices(2)) >= 3, "slices of the second epoch")
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130, weighing.said
    assert [one["epoch"] for one in epochs_of(Record(weighing.record))] == [0]

    resumed = start("record", "--resume", str(weighing.record))
    assert resumed.end(SEVERAL_S) == 0, resumed.said
    record = Record(weighing.record)
    plan, epochs = record.read("plan.json"), epochs_of(record)
    assert (plan["layout"], plan["layout_why"]) == ("cycles", "the study says so")
    for settings in plan["turns"]["settings"].values():
        assert settings["checkpoint_timeout"] == "90s"
        assert settings["autovacuum_naptime"] == "30000ms"
        assert settings["idle_session_timeout"] == "1800000ms"
    assert [(one["epoch"], one["attempt"], one["outcome"]) for one in epochs] == [
        (0, 1, "complete"),
        (1, 2, "complete"),
    ]
    for epoch in epochs:
        assert set(epoch["windows"]) == {"off", "pglz", "hints"}
        for window in epoch["windows"].values():
            assert window["suspended_use_ns"] == 0
            assert window["end"] == "stated"
            assert window["suspensions"] >= len(window["starts_ns"]) > 10
    page = (weighing.record / "report.html").read_text(encoding="utf-8")
    assert "In cycles" in page
    assert "settings of wall time" in page
    read = read_recorded(record)
    recorded = read_verdict(record)
    assert recorded is not None
    assert differences(recorded, rejudge(read)) == []
