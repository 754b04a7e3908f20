"""A weighing that is interrupted, killed or starved keeps what it measured and leaves nothing."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from underway import QUICK, Underway, until

from steelyard.record.record import Record

pytestmark = pytest.mark.postgres

Start = Callable[..., Underway]
ROOMY = (*QUICK, "--budget", "60s")
"""Epochs of 6 s: however slow the machine, there is time to strike in the middle of one."""
TWO_EPOCHS = (*QUICK, "--set", "budget.epochs=2")


def outcomes(record: Path) -> list[str]:
    lines = Record(record).lines("telemetry.jsonl")
    return [x["outcome"] for x in lines if x["type"] == "epoch"]


@pytest.mark.long
def test_ctrl_c_after_the_death_of_a_server_judges_what_there_is(start: Start) -> None:
    """Two promises on one weighing: a death is an outcome; Ctrl-C keeps the record, status 130."""
    weighing = start("record", "aa", *ROOMY, "--seed", "3")
    weighing.in_the_middle_of(1)
    os.kill(weighing.postmasters()[0], signal.SIGKILL)
    weighing.wait_for("epoch +1/")
    assert "lost" in weighing.lines[-1]
    [outcome] = outcomes(weighing.record)
    head = next(Record(weighing.record).lines("telemetry.jsonl"))
    dead = next(arm for arm, slot in head["slots"].items() if slot == 0)
    assert outcome == f"crashed: {dead}"
    assert (weighing.record / "server-epoch1-slot0.log").is_file()

    weighing.in_the_middle_of(3)
    traces = weighing.traces()
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130
    assert traces.left == []
    assert outcomes(weighing.record) == [outcome, "complete"]
    answer = weighing.verdict
    assert answer["interrupted"] is True
    [contrast] = answer["contrasts"]
    assert contrast["epochs"] == 2, "a lost epoch counts: it was run"
    seen = [threat["seen"] for threat in contrast["threats"] if threat["name"] == "an arm crashed"]
    assert len(seen) == 1
    assert f"{dead} did not complete 1 of 2 epochs" in seen[0]
    assert contrast["verdict"] in ("inconclusive", "invalid")
    assert (weighing.record / "report.html").is_file()


def test_ctrl_c_before_anything_is_decided_leaves_nothing_either(start: Start) -> None:
    weighing = start("record", "aa", *ROOMY)
    weighing.wait_for("pilot: watch")
    until(lambda: len(weighing.postmasters()) == 2, "servers in their slots")
    traces = weighing.traces()
    weighing.process.send_signal(signal.SIGINT)
    assert weighing.end() == 130
    assert weighing.lines[-1] == "interrupted"
    assert "Traceback" not in weighing.said
    error = {"primary": "interrupted", "detail": None, "hint": None, "status": 130}
    assert json.loads(weighing.answer) == {"error": error}
    assert traces.left == []


@pytest.mark.long
def test_killed_it_is_cleaned_up_at_the_next_start_and_completed(start: Start) -> None:
    killed = start("record", "aa", *TWO_EPOCHS, "--seed", "4")
    killed.in_the_middle_of(2)
    traces = killed.traces()
    killed.process.kill()
    killed.end()
    plan = (killed.record / "plan.json").read_bytes()
    first = [line for line in Record(killed.record).lines("slices.jsonl") if line["epoch"] == 0]
    assert traces.left, "kill -9 leaves servers and directories behind"

    resumed = start("record", "--resume", str(killed.record))
    resumed.wait_for("compare the arms")
    until(lambda: traces.left == [], "the next start to clean up")
    assert resumed.end() == 0, resumed.said
    answer = resumed.verdict
    assert answer["resumed"] is True
    assert (answer["seed"], answer["contrasts"][0]["epochs"]) == (4, 2)
    assert outcomes(killed.record) == ["complete", "complete"]
    assert (killed.record / "plan.json").read_bytes() == plan
    lines = list(Record(killed.record).lines("slices.jsonl"))
    assert [line for line in lines if line["epoch"] == 0] == first
    assert {line["attempt"] for line in lines if line["epoch"] == 1} == {1, 2}
    assert "resumed" in (killed.record / "report.html").read_text(encoding="utf-8").lower()


IN_TURNS = (
    *("-f", "tpcb-like", "--set", "workload.scale=1", "--set", "workload.clients=2"),
    *("--set", "layout=turns", "--set", "turns.measured=10s", "--set", "budget.epochs=8"),
    *("--set", "settings.max_wal_size=32MB", "--budget", "60m"),
)


@pytest.mark.long
def test_killed_in_a_turn_it_has_the_turns_before_and_an_arm_that_was_lost_stays_lost(
    start: Start,
) -> None:
    killed = start("record", "aa", *IN_TURNS, "--seed", "5")
    killed.wait_for("epoch 2 of 8: turn of ")
    until(lambda: len(killed.slices(2)) >= 3, "the first turn of epoch 2 to be measured")
    dead = killed.slices(2)[0]["arm"]
    [postmaster] = killed.postmasters().values()
    os.kill(postmaster, signal.SIGKILL)
    killed.wait_for("epoch 2 of 8: turn of ")
    until(lambda: len({x["arm"] for x in killed.slices(2)}) == 2, "the other arm's turn")
    traces = killed.traces()
    killed.process.kill()
    killed.end()
    before = list(Record(killed.record).lines("telemetry.jsonl"))
    assert [x["epoch"] for x in before if x["type"] == "turn"] == [0, 0]
    [lost] = [x for x in before if x["type"] == "lost turn"]
    assert (lost["epoch"], lost["outcome"]) == (1, f"crashed: {dead}")
    assert list(killed.record.glob("server-epoch2-*.log"))

    resumed = start("record", "--resume", str(killed.record))
    resumed.wait_for("epoch +2/")
    assert "lost" in resumed.lines[-1]
    assert traces.left == []
    resumed.process.send_signal(signal.SIGINT)
    assert resumed.end() == 130
    after = list(Record(killed.record).lines("telemetry.jsonl"))
    assert after[: len(before)] == before
    own = [x["arm"] for x in after if x["type"] == "turn" and x["epoch"] == 1]
    assert len(own) == 1
    assert dead not in own, "it had its turn"
    assert outcomes(killed.record) == ["complete", f"crashed: {dead}"]


@pytest.mark.long
def test_two_side_by_side_never_meet_and_one_that_is_terminated_leaves_nothing(
    start: Start,
) -> None:
    one, other = start("one", "aa", *ROOMY), start("other", "aa", *ROOMY)
    one.in_the_middle_of(1)
    other.in_the_middle_of(1)
    traces, others = one.traces(), other.traces()
    assert not set(traces.directories) & set(others.directories)
    assert not traces.processes & others.processes
    one.process.terminate()
    assert one.end() == 128 + signal.SIGTERM
    assert "Traceback" not in one.said
    assert traces.left == []
    assert set(map(str, others.directories)) <= set(others.left)
    assert len(one.slices(1)) >= 4

    grown = (other.record / "slices.jsonl").stat
    before = grown().st_size
    until(lambda: grown().st_size > before, "the other one to go on")
    others = other.traces()
    other.process.terminate()
    assert other.end() == 128 + signal.SIGTERM
    assert others.left == []


@pytest.mark.long
def test_a_full_disk_ends_it_with_one_clear_error_and_what_was_written_is_kept(
    start: Start,
) -> None:
    weighing = start("record", "aa", *QUICK)
    weighing.in_the_middle_of(1)
    traces = weighing.traces()
    size = (weighing.record / "slices.jsonl").stat().st_size
    # The kernel refuses to make a file longer, as it does on a full disk; servers that run already
    # are not limited.
    resource.prlimit(weighing.process.pid, resource.RLIMIT_FSIZE, (size + 5000, size + 5000))
    assert weighing.end() == 3
    errors = [line for line in weighing.lines if line.startswith("error: ")]
    assert len(errors) == 1, weighing.said
    assert "could not append to" in errors[0]
    assert "slices.jsonl" in errors[0]
    assert "--resume" in weighing.said
    assert "Traceback" not in weighing.said
    assert "could not append to" in json.loads(weighing.answer)["error"]["primary"]
    assert traces.left == []
    assert len(weighing.slices(1)) >= 4


@pytest.mark.long
def test_three_lost_epochs_in_a_row_end_it_with_everything_kept(start: Start) -> None:
    """What keeps killing an arm will go on doing so: the weighing does not go on for ever."""
    weighing = start("record", "aa", *ROOMY, "--seed", "5")
    for epoch in (1, 2, 3):
        weighing.in_the_middle_of(epoch)
        os.kill(weighing.postmasters()[0], signal.SIGKILL)
    traces = weighing.traces()
    assert weighing.end() == 3
    assert traces.left == []
    errors = [line for line in weighing.lines if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: 3 epochs in a row were lost: crashed: ")
    assert "--resume" in weighing.said
    assert "Traceback" not in weighing.said
    lost = outcomes(weighing.record)
    assert len(lost) == 3
    assert all(outcome.startswith("crashed: ") for outcome in lost)
    verdict = json.loads((weighing.record / "verdict.json").read_text())
    assert verdict["contrasts"][0]["details"]["lost_epochs"] == [0, 1, 2]
    assert (weighing.record / "report.html").is_file()
    assert len(list(weighing.record.glob("server-epoch*-slot0.log"))) == 3


@pytest.mark.long
def test_ctrl_c_again_and_again_ends_it_and_leaves_nothing(start: Start) -> None:
    """The second one interrupts the judging of what there is; the cleaning up hears none."""
    weighing = start("record", "aa", *ROOMY)
    weighing.in_the_middle_of(1)
    traces = weighing.traces()
    while weighing.process.poll() is None:
        weighing.process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert weighing.end() == 130, weighing.said
    assert "Traceback" not in weighing.said
    assert traces.left == []
    assert (weighing.record / "plan.json").is_file()
    assert len(weighing.slices(1)) >= 4, "what was measured is kept"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=755", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_file_system_without_room_ends_it_with_one_clear_error(
    start: Start, small_disk: Path
) -> None:
    weighing = start("small/record", "aa", *QUICK)
    weighing.wait_for("pilot: watch")
    until(lambda: len(weighing.postmasters()) == 2, "servers in their slots")
    traces = weighing.traces()
    assert weighing.end() == 3
    errors = [line for line in weighing.lines if line.startswith("error: ")]
    assert len(errors) == 1, weighing.said
    assert "No space left on device" in errors[0]
    assert "Traceback" not in weighing.said
    assert traces.left == []
    kept = list(Record(weighing.record).lines("slices.jsonl"))
    assert len(kept) > 10
