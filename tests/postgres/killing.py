"""Kills a weighing, its driver or one of its servers at moments drawn from a seed, and resumes it.

One weighing suffers many kills: what is killed beside it is an outcome of an epoch, and after it
was killed itself it is resumed. When it is complete the next one begins, until all have struck.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from underway import PATIENCE_S, Traces, Underway

from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.verdict.rejudge import rejudge

Start = Callable[..., Underway]
EPOCHS, BLOCKS = 8, 3
TINY = (
    "aa", "-f", "tpcb-like", "--set", "workload.scale=1", "--set", "workload.clients=2",
    "--set", "cost=whole",
    "--set", f"budget.epochs={EPOCHS}",
    "--set", f"budget.counted={{each = 10, blocks = {BLOCKS}, warmup = 1}}",
)  # fmt: skip
"""Epochs of a second, most of it restarts; writes, so that idle arms are frozen."""
LATEST_S = 2.0
"""A strike comes up to so long after the one before, or after the start."""
VICTIMS = ("steelyard", "driver", "server", "backend")


@dataclass
class Killings:
    """A weighing under kills; `struck` counts what was killed."""

    start: Start
    draw: random.Random
    struck: Counter[str] = field(default_factory=Counter)
    completed: int = 0
    _kept: bytes = b""
    """Whole lines of slices.jsonl that were there at a kill."""
    _traces: list[Traces] = field(default_factory=list)
    """Of killed weighings: gone once the next one has started."""

    def strike(self, moments: int) -> None:
        """Weigh and kill until so many moments have struck, and to the end of the last one."""
        while True:
            self._one(f"record{self.completed}", moments)
            self.completed += 1
            if self.struck.total() >= moments:
                return

    def _one(self, name: str, moments: int) -> None:
        """One weighing from its start to its end, resumed as often as it was killed."""
        self._kept = b""
        weighing = self.start(name, *TINY, "--seed", str(self.draw.randrange(1000)))
        while True:
            while self.struck.total() < moments and self._next_strike(weighing):
                pass
            status = weighing.end()
            self._keep(weighing.record)
            if status == 0 or self._is_complete(weighing.record):
                break
            # 3: three epochs in a row were lost to the strikes, or one struck the pilot.
            assert status in (-signal.SIGKILL, 3), weighing.said
            assert "Traceback" not in weighing.said
            weighing = self._again(name, weighing.record)
        self._require_complete(weighing)

    def _is_complete(self, record: Path) -> bool:
        """Also where its last three epochs were lost, which is an error of the weighing."""
        return (record / "verdict.json").is_file() and len(_epochs(record)) == EPOCHS

    def _again(self, name: str, record: Path) -> Underway:
        if (record / "plan.json").is_file():
            return self.start(name, "--resume", str(record))
        self._kept = b""  # killed before its plan: nothing was measured, and it begins anew
        shutil.rmtree(record, ignore_errors=True)  # a record begins in an empty folder
        return self.start(name, *TINY)

    def _next_strike(self, weighing: Underway) -> bool:
        """Whether it still runs afterwards; waits for the moment, and for the victim."""
        victim = self.draw.choice(VICTIMS)
        moment = time.monotonic() + self.draw.uniform(0, LATEST_S)
        deadline = moment + PATIENCE_S
        while weighing.process.poll() is None:
            assert time.monotonic() < deadline, f"waited in vain for a {victim} to kill"
            if time.monotonic() < moment or not self._kill(victim, weighing):
                time.sleep(0.005)
                continue
            self.struck[victim] += 1
            return victim != "steelyard"
        return False

    def _kill(self, victim: str, weighing: Underway) -> bool:
        """Whether there was one."""
        if victim == "steelyard":
            if weighing.directories():
                with contextlib.suppress(IndexError, OSError):
                    self._traces.append(weighing.traces())
            weighing.process.kill()
            weighing.process.wait()
            self._keep(weighing.record)
            return True
        found = self._victims(victim, weighing)
        if not found:
            return False
        try:
            os.kill(self.draw.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _victims(self, victim: str, weighing: Underway) -> list[int]:
        if victim == "driver":
            return [
                pid for pid in _children(weighing.process.pid) if b"steelyard.driver" in _words(pid)
            ]
        with contextlib.suppress(OSError):
            masters = sorted(weighing.postmasters().values())
            if victim == "server":
                return masters
            return sorted(child for master in masters for child in _children(master))
        return []

    def _keep(self, record: Path) -> None:
        file = record / "slices.jsonl"
        text = file.read_bytes() if file.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        assert whole.startswith(self._kept), "lines that were there at a kill are gone"
        self._kept = whole

    def _require_complete(self, weighing: Underway) -> None:
        """Every epoch is there once; a complete one with all its slices; the verdict follows from
        the record; nothing of the killed ones is left."""
        epochs = _epochs(weighing.record)
        assert [x["epoch"] for x in epochs] == list(range(EPOCHS))
        slices = list(Record(weighing.record).lines("slices.jsonl"))
        for epoch in epochs:
            own = [x for x in slices if _belongs(x, epoch)]
            if epoch["outcome"] == "complete":
                assert len(own) == 2 * BLOCKS
                assert len({(x["block"], x["arm"]) for x in own}) == 2 * BLOCKS
        verdict = json.loads((weighing.record / "verdict.json").read_text())
        again = rejudge(read_recorded(Record.open(weighing.record))).to_json()
        assert json.loads(json.dumps(again))["contrasts"] == verdict["contrasts"]
        assert [left for traces in self._traces for left in traces.left] == []
        assert list((weighing.cache / "run").glob("*/owner.json")) == []
        self._traces.clear()


def _epochs(record: Path) -> list[dict[str, Any]]:
    return [x for x in Record(record).lines("telemetry.jsonl") if x["type"] == "epoch"]


def _belongs(line: dict[str, Any], epoch: dict[str, Any]) -> bool:
    return line["kind"] == "measured" and (line["epoch"], line["attempt"]) == (
        epoch["epoch"], epoch["attempt"],
    )  # fmt: skip


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(word) for word in text.split()]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
