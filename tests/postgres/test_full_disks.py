"""A disk that fills up while data is loaded or weighed ends it with one clear error; what was
measured is kept, nothing else is left, and with room again it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from underway import Underway, until

from own_cache import open_directory
from steelyard.record.record import Record

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system"),
]

Start = Callable[..., Underway]
SIZE = "3g"
FILLER = "filler"
TINY = (
    "aa", "-f", "tpcb-like", "--set", "workload.scale=1", "--set", "workload.clients=2",
    "--set", "cost=whole",
    "--set", "budget.epochs=40", "--set", "budget.counted={each = 200, blocks = 10, warmup = 1}",
)  # fmt: skip


@dataclass
class SmallDisk:
    """A file system in memory that can be filled to the last byte."""

    place: Path

    def fill(self) -> None:
        """Take all the room there is."""
        with (self.place / FILLER).open("wb", buffering=0) as file:
            block = bytes(1 << 20)
            try:
                while True:
                    file.write(block)
            except OSError:
                return

    def free(self) -> None:
        """Give it back."""
        (self.place / FILLER).unlink(missing_ok=True)


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with open_directory() as home:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=711", "tmpfs", str(home)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting a file system is not allowed here")
        try:
            yield SmallDisk(home)
        finally:
            subprocess.run(["umount", str(home)], check=True)


@pytest.fixture
def on_it(disk: SmallDisk, tmp_path: Path) -> Iterator[Start]:
    """Starts Steelyard with its cache on the small disk; records stand elsewhere."""
    started: list[Underway] = []

    def begin(record: str, *arguments: str, **about: str) -> Underway:
        one = Underway.start(disk.place, tmp_path / record, *arguments, **about)
        started.append(one)
        return one

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def require_one_error(ended: Underway) -> str:
    """The line."""
    errors = [line for line in ended.lines if line.startswith("error: ")]
    assert len(errors) == 1, ended.said
    assert "Traceback" not in ended.said
    return errors[0]


def test_while_loading_nothing_half_loaded_is_kept(disk: SmallDisk, on_it: Start) -> None:
    loading = on_it("record", *TINY, "--set", "workload.scale=20")
    loading.wait_for("load: ")
    loading.process.send_signal(signal.SIGSTOP)  # filling takes about as long as loading does
    disk.fill()
    loading.process.send_signal(signal.SIGCONT)
    assert loading.end() == 3, loading.said
    require_one_error(loading)
    assert "No space left on device" in loading.said
    disk.free()
    assert list((disk.place / "run").glob("*/owner.json")) == []
    assert not loading.record.exists() or not (loading.record / "plan.json").exists()

    again = on_it("again", *TINY, "--set", "budget.epochs=8")
    assert again.end() == 0, again.said


def test_while_weighing_what_was_measured_is_kept_and_with_room_it_goes_on(
    disk: SmallDisk, on_it: Start
) -> None:
    weighing = on_it("record", *TINY)
    weighing.in_the_middle_of(3)
    before = (weighing.record / "slices.jsonl").read_bytes()
    traces = weighing.traces()
    disk.fill()
    assert weighing.end() == 3, weighing.said
    require_one_error(weighing)
    assert traces.left == []
    kept = (weighing.record / "slices.jsonl").read_bytes()
    assert kept.startswith(before[: before.rfind(b"\n") + 1])
    epochs = [x for x in Record(weighing.record).lines("telemetry.jsonl") if x["type"] == "epoch"]
    lost = [x for x in epochs if x["outcome"] != "complete"]
    assert len(epochs) - len(lost) >= 2
    assert lost, "named, by the servers' words or by the loss of their connections"
    assert all(x["error"] for x in lost)

    disk.free()
    resumed = on_it("record", "--resume", str(weighing.record))
    resumed.wait_for(rf"epoch +{len(epochs) + 1}/")
    assert "lost" not in resumed.lines[-1]
    resumed.process.terminate()
    resumed.end()
    until(lambda: not list((disk.place / "run").glob("*/owner.json")), "the run to be removed")


IN_TURNS = (
    "aa", "-f", "tpcb-like", "--set", "workload.scale=1", "--set", "workload.clients=2",
    "--set", "layout=turns", "--set", "turns.measured=10s", "--set", "budget.epochs=8",
    "--set", "settings.max_wal_size=32MB", "--set", "settings.checkpoint_timeout=30s",
    "--budget", "60m",
)  # fmt: skip


def test_while_log_is_written_in_a_turn_the_turns_before_it_are_kept_and_it_goes_on(
    disk: SmallDisk, on_it: Start
) -> None:
    weighing = on_it("record", *IN_TURNS)
    weighing.wait_for(r"epoch +1/")
    traces = weighing.traces()
    disk.fill()
    assert weighing.end() == 3, weighing.said
    require_one_error(weighing)
    assert traces.left == []
    lines = list(Record(weighing.record).lines("telemetry.jsonl"))
    done = [(x["epoch"], x["arm"]) for x in lines if x["type"] == "turn"]
    assert [epoch for epoch, _ in done[:2]] == [0, 0], "turns that ended are kept"
    lost = [x for x in lines if x["type"] == "epoch" and x["outcome"] != "complete"]
    assert all(x["error"] for x in lost)

    disk.free()
    resumed = on_it("record", "--resume", str(weighing.record))
    resumed.wait_for(r"epoch +\d+/")
    assert "lost" not in resumed.lines[-1]
    resumed.process.terminate()
    resumed.end()
    until(lambda: not list((disk.place / "run").glob("*/owner.json")), "the run to be removed")
