"""Weighings whose load three machines put on: a known weight, a machine that dies."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.conftest import server
from driver.served import Server
from fleet.crowd.false_clock import FarHand, FarMachines
from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.fleet.crowd.drivers import CrowdDrivers
from steelyard.fleet.crowd.member import Driven, Opened
from steelyard.model.errors import UsageError
from steelyard.record.verdict import Verdict
from steelyard.running.preparing.recording import Question
from steelyard.running.world import World
from steelyard.study.read import read_study
from steelyard.weigh import weigh
from story.asked import Silent

__all__ = ["server"]
pytestmark = [pytest.mark.postgres, pytest.mark.long]

MS = 1_000_000
HOUR_NS = 3_600_000 * MS
QUERY = "\\set id random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :id;\n"


@pytest.fixture
def machines() -> Iterator[FarMachines]:
    made = FarMachines(
        [
            FarHand("a", offset_ns=HOUR_NS, drift=100e-6),
            FarHand("b", offset_ns=-HOUR_NS, there_s=0.001),
            FarHand("c", offset_ns=5 * MS, back_s=0.001),
        ]
    )
    yield made
    made.close()


class DyingHand(FarHand):
    """It loses its driver once, in the third slice of the fifth time that it is connected: the
    first two are the pilot's."""

    died = False

    def drive(self, request: SliceRequest, patience_s: float | None) -> Driven:
        driven = len(self.spans_ns) - self.driven_before
        if len(self.plans) == 5 and driven == 2 and not self.died:
            self.died = True
            assert self.hand.driver_pid is not None
            threading.Timer(0.02, os.kill, [self.hand.driver_pid, signal.SIGKILL]).start()
        return super().drive(request, patience_s)

    def open(self, plan: DrivePlan) -> Opened:
        self.driven_before = len(self.spans_ns)
        return super().open(plan)


def weighed(
    server: Server, machines: FarMachines | None, tmp_path: Path, *changes: str, count: int = 3
) -> tuple[Verdict, list[dict[str, Any]]]:
    """The verdict, and the measured slices as they stand in the record."""
    script = tmp_path / "q.sql"
    script.write_text(QUERY)
    study = read_study(
        "sessions",
        [
            "workload=own", "settings={}", f'address="{server.conninfo}"',
            f'workload.scripts={{"{script}"=1}}', f"workload.machines={count}",
            "workload.clients=6", "budget.measuring=20s", *changes,
        ],
    )  # fmt: skip
    record = tmp_path / "record"
    question = Question(study, 7, record, None, ("steelyard",), None)
    drivers = None if machines is None else CrowdDrivers(machines)
    with World(None, drivers) as world:
        verdict = weigh(question, world, Silent())
    lines = [json.loads(line) for line in (record / "slices.jsonl").read_text().splitlines()]
    return verdict, [line for line in lines if line["kind"] == "measured"]


def test_a_known_weight_reads_true_through_three_machines_with_their_skew_in_every_slice(
    server: Server, machines: FarMachines, tmp_path: Path
) -> None:
    verdict, lines = weighed(server, machines, tmp_path, "arm.weight.double_work=0.25")
    [contrast] = verdict.contrasts
    assert contrast.verdict == "slower"
    assert contrast.low_percent is not None
    assert contrast.high_percent is not None
    assert contrast.low_percent < -15 < contrast.high_percent + 10
    assert lines
    for line in lines:
        together = line["together"]
        assert [part["name"] for part in together["machines"]] == ["a", "b", "c"]
        assert sum(part["clients"] for part in together["machines"]) == line["clients"] == 6
        assert together["skew_ns"] >= 0
        assert 0 < together["skew_bound_ns"] < 20 * MS
        assert line["length_ns"] >= 100 * MS


def test_a_study_of_several_machines_is_not_weighed_by_one(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="comes from 3 machines, and not from 1"):
        weighed(server, None, tmp_path)


def test_a_machine_that_dies_costs_its_epoch_and_no_other(
    server: Server, machines: FarMachines, tmp_path: Path
) -> None:
    dying = DyingHand("b")
    machines.hands[1] = dying
    verdict, _ = weighed(server, machines, tmp_path)
    assert dying.died
    told = (tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()
    outcomes = [json.loads(one).get("outcome") for one in told]
    lost = [one for one in outcomes if one and one != "complete"]
    assert len(lost) == 1
    assert 'load machine "b"' in lost[0]
    assert verdict.contrasts[0].epochs >= 8
