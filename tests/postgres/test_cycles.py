"""Whatever ends a weighing in cycles, no server is left that stands still, and no epoch but one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from underway import Underway, stopped, until

from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
IN_CYCLES = (
    *("aa", "-f", "tpcb-like", "--set", "workload.scale=1", "--set", "workload.clients=2"),
    *("--set", "layout=cycles", "--set", "turns.measured=10s", "--set", "budget.epochs=8"),
    *("--set", "settings.max_wal_size=32MB", "--budget", "60m"),
)


def outcomes(record: Path) -> list[str]:
    return [x["outcome"] for x in Record(record).lines("telemetry.jsonl") if x["type"] == "epoch"]


def in_epoch(weighing: Underway, epoch: int) -> None:
    """Wait until the arms of an epoch (from 1) take slices."""
    until(
        lambda: any(x["epoch"] == epoch - 1 for x in Record(weighing.record).lines("slices.jsonl")),
        f"slices of epoch {epoch}",
    )


def slot_that_stands_still(weighing: Underway) -> tuple[int, int]:
    """A slot whose server stands wholly still now, and the process id of its postmaster."""
    found: list[tuple[int, int]] = []

    def look() -> bool:
        masters = weighing.postmasters()
        found[:] = [
            (slot, pid) for slot, pid in masters.items()
            if all_stopped([pid, *children_of(pid)]) and len(children_of(pid)) > 4
        ]  # fmt: skip
        return bool(found)

    until(look, "an arm that stands still")
    return found[0]


def all_stopped(pids: Iterable[int]) -> bool:
    every = list(pids)
    return len(stopped((pid, 0.0) for pid in every)) == len(every)


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def arm_in(weighing: Underway, slot: int, epoch: int) -> str:
    """The arm that stands in a slot in an epoch (from 1), as the plan has it."""
    plan = json.loads((weighing.record / "plan.json").read_text())
    return str(plan["arms"][plan["assignment"][epoch - 1].index(slot)])


def test_killed_while_an_arm_stands_still_it_loses_that_epoch_and_the_next_start_ends_the_arm(
    start: Start,
) -> None:
    killed = start("record", *IN_CYCLES, "--seed", "6")
    killed.wait_for("epoch +1/8")
    in_epoch(killed, 2)
    slot_that_stands_still(killed)
    traces = killed.traces()
    killed.process.kill()
    killed.end()
    assert stopped(traces.processes), "nothing is there to thaw them"
    plan = (killed.record / "plan.json").read_bytes()
    before = list(Record(killed.record).lines("telemetry.jsonl"))
    first = [x for x in Record(killed.record).lines("slices.jsonl") if x["epoch"] == 0]

    resumed = start("record", "--resume", str(killed.record))
    resumed.wait_for("compare the arms")
    until(lambda: traces.left == [], "the next start to clean up")
    resumed.wait_for("epoch +2/8")
    resumed.process.send_signal(signal.SIGINT)
    assert resumed.end() == 130
    assert (killed.record / "plan.json").read_bytes() == plan
    after = list(Record(killed.record).lines("telemetry.jsonl"))
    assert after[: len(before)] == before
    epochs = [(x["epoch"], x["attempt"], x["outcome"]) for x in after if x["type"] == "epoch"]
    assert epochs == [(0, 1, "complete"), (1, 2, "complete")]
    slices = list(Record(killed.record).lines("slices.jsonl"))
    assert [x for x in slices if x["epoch"] == 0] == first
    assert {x["attempt"] for x in slices if x["epoch"] == 1} == {1, 2}


def test_another_command_that_cleans_up_ends_an_arm_that_stands_still_too(start: Start) -> None:
    killed = start("record", *IN_CYCLES, "--seed", "6")
    killed.wait_for("plan: ")
    in_epoch(killed, 1)
    slot_that_stands_still(killed)
    traces = killed.traces()
    killed.process.kill()
    killed.end()
    assert stopped(traces.processes)
    cleared = subprocess.run(
        [sys.executable, "-m", "steelyard", "engines", "clear", "--json"],
        env={**os.environ, "STEELYARD_CACHE": str(killed.cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(cleared.stdout)["leftovers"]) == 1
    assert traces.left == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
)
def test_a_signal_while_an_arm_stands_still_leaves_nothing(
    start: Start, number: signal.Signals, status: int
) -> None:
    weighing = start("record", *IN_CYCLES, "--seed", "6")
    weighing.wait_for("plan: ")
    in_epoch(weighing, 1)
    slot_that_stands_still(weighing)
    traces = weighing.traces()
    weighing.process.send_signal(number)
    assert weighing.end() == status
    assert "Traceback" not in weighing.said
    assert traces.left == []


def test_a_server_that_dies_while_it_stands_still_is_named_and_the_weighing_goes_on(
    start: Start,
) -> None:
    """First its postmaster, then one of its sessions: the postmaster ends the others for that."""
    weighing = start("record", *IN_CYCLES, "--seed", "7")
    weighing.wait_for("plan: ")
    lost = []
    for epoch in (1, 2):
        in_epoch(weighing, epoch)
        slot, postmaster = slot_that_stands_still(weighing)
        lost.append(f"crashed: {arm_in(weighing, slot, epoch)}")
        os.kill(postmaster if epoch == 1 else session_of(postmaster), signal.SIGKILL)
        weighing.wait_for(f"epoch +{epoch}/8")
        assert "lost" in weighing.lines[-1]
    assert outcomes(weighing.record) == lost
    told = [x for x in Record(weighing.record).lines("telemetry.jsonl") if x["type"] == "epoch"]
    assert all(x["error"] for x in told), "what the server had to say"
    assert list(weighing.record.glob("server-epoch*.log"))
    in_epoch(weighing, 3)
    traces = weighing.traces()
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130
    assert "Traceback" not in weighing.said
    assert traces.left == []

    resumed = start("record", "--resume", str(weighing.record))
    until(
        lambda: any(
            x["epoch"] == 2 and x["attempt"] == 2
            for x in Record(weighing.record).lines("slices.jsonl")
        ),
        "the epoch that was torn, anew",
    )
    traces = resumed.traces()
    resumed.process.send_signal(signal.SIGINT)
    assert resumed.end() == 130
    assert traces.left == []
    assert outcomes(weighing.record) == lost


def session_of(postmaster: int) -> int:
    """A process of a server that serves a client of the load."""
    for pid in children_of(postmaster):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        if b"postgres postgres steelyard" in words or b"postgres steelyard [local]" in words:
            return pid
    raise AssertionError("no session of the load")
