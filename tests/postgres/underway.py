"""A weighing under way in a process of its own: what it says, what it holds, and what it leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.engines.account import choose_account
from steelyard.engines.postgres.cleanup import segments_of
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.record.record import Record

PATIENCE_S = 900.0
"""Longest wait for anything: long enough never to be met but by a hang."""
SEVERAL_S = 3 * PATIENCE_S
"""The same for a command that weighs several times."""
QUICK = (
    *("--set", "workload.scale=1", "--budget", "20s"),
    *("--set", "budget.slice=50ms", "--set", "layout=slices"),  # turns take minutes
)


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition; AssertionError when it never comes."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.01)


def _as_on_a_terminal() -> None:
    """Ctrl-C reaches the program: a shell that runs tests in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Traces:
    """What a weighing has on the machine outside its record."""

    directories: tuple[Path, ...]
    processes: frozenset[tuple[int, float]]  # id and start, so that a new owner is no trace
    posix: frozenset[str]
    system_v: frozenset[int]

    @property
    def left(self) -> list[str]:
        """Those that are still there; zombies that the weighing should have waited for count."""
        rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
        return [
            *(str(path) for path in self.directories if path.exists()),
            *(f"process {pid}" for pid, began in self.processes if _began(pid) == began),
            *(path for path in self.posix if os.path.exists(path)),
            *(f"segment {n}" for n in self.system_v & {int(row[1]) for row in rows}),
        ]


@dataclass
class Underway:
    """One `steelyard weigh` that was started; `lines` is what it said on standard error so far."""

    process: subprocess.Popen[str]
    record: Path
    cache: Path
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(
        cls, cache: Path, record: Path, *arguments: str, study: str = "", command: str = "weigh"
    ) -> Underway:
        """Weigh with `arguments`; `study` is written to the file that they name first."""
        if study:
            (record.parent / arguments[0]).write_text(study)
        words = [sys.executable, "-m", "steelyard", command, *arguments, "--json"]
        if "--resume" not in arguments:
            words += ["--record", str(record)]
        process = subprocess.Popen(
            words,
            cwd=record.parent,
            env={**os.environ, "STEELYARD_CACHE": str(cache)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_as_on_a_terminal,  # noqa: PLW1509  this process has no threads
        )
        return cls(process, record, cache)

    def wait_for(self, words: str) -> None:
        """Read on until a line matches `words`, a regular expression."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip())
            if re.search(words, line):
                return
        raise AssertionError(f"it ended before saying {words!r}:\n" + "\n".join(self.lines))

    def in_the_middle_of(self, epoch: int) -> None:
        """Wait until slices of an epoch (from 1) are in the record and that epoch is not over."""
        self.wait_for("plan: " if epoch == 1 else rf"epoch +{epoch - 1}/")

        def are_there() -> bool:
            return len(self.slices(epoch)) >= 4

        until(lambda: are_there() or self.process.poll() is not None, f"slices of epoch {epoch}")
        assert are_there(), f"it ended before: {self.process.communicate()}"

    def slices(self, epoch: int) -> list[dict[str, Any]]:
        """The measured slices of an epoch (from 1) that are in the record by now."""
        lines = Record(self.record).lines("slices.jsonl")
        return [x for x in lines if x["epoch"] == epoch - 1 and x["kind"] == "measured"]

    def end(self, patience_s: float = PATIENCE_S) -> int:
        """Read to the end; the exit status. `answer` has standard output afterwards."""
        self.answer, rest = self.process.communicate(timeout=patience_s)
        self.lines += rest.splitlines()
        return self.process.returncode

    @property
    def verdict(self) -> dict[str, Any]:
        """Standard output as the one JSON object that it is; NaN and Infinity are not JSON."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        found: dict[str, Any] = json.loads(self.answer, parse_constant=refuse)
        return found

    @property
    def said(self) -> str:
        """Everything on standard error so far."""
        return "\n".join(self.lines)

    def directories(self) -> list[Path]:
        """Its places in the cache and for sockets."""
        owners = {o: _said(o) for o in (self.cache / "run").glob("*/owner.json")}
        return [
            place
            for owner, said in owners.items()
            if said.get("pid") == self.process.pid
            for place in (owner.parent, Path(said["sockets"]))
        ]

    def postmasters(self) -> dict[int, int]:
        """Slot number → process id of the server that stands there; none while it has no place."""
        files = [f for at in self.directories()[:1] for f in at.glob("slot*/*/postmaster.pid")]
        locks = {int(f.parts[-3].removeprefix("slot")): read_pid_file(f.parent) for f in files}
        return {slot: lock.pid for slot, lock in locks.items() if lock is not None}

    def traces(self) -> Traces:
        """What it has on the machine now."""
        directories = self.directories()
        data = [file.parent for file in directories[0].glob("slot*/*/postmaster.pid")]
        locks = [lock for lock in map(read_pid_file, data) if lock is not None]
        roots = {self.process.pid, *(lock.pid for lock in locks)}
        return Traces(
            directories=tuple(directories),
            processes=frozenset(
                (pid, began) for pid in _descendants(roots) if (began := _began(pid)) != _GONE
            ),
            posix=frozenset(name for d in data for name in segments_of(d, choose_account())),
            system_v=frozenset(x.shared_memory_id for x in locks if x.shared_memory_id),
        )


def _said(owner: Path) -> dict[str, Any]:
    """What an owner wrote of itself; nothing while it writes, or when it is gone."""
    try:
        found: dict[str, Any] = json.loads(owner.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found


_GONE = -1.0
_INIT = "1"


def _began(pid: int) -> float:
    """When a process began; a dead one whose parent is init by now is gone: init takes its time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return _GONE
    return _GONE if fields[:2] == ["Z", _INIT] else float(fields[19])


def _descendants(roots: set[int]) -> Iterator[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    for pid in parents:
        ancestor = pid
        while ancestor > 1 and ancestor not in roots:
            ancestor = parents.get(ancestor, 0)
        if ancestor in roots:
            yield pid


def stopped(processes: Iterable[tuple[int, float]]) -> list[int]:
    """Those in state T."""
    found = []
    for pid, _ in processes:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [pid] if state == "T" else []
    return found


def recorded(answer: dict[str, Any]) -> dict[str, Any]:
    """What `--json` printed without what it adds to the record: scope, parts and cause."""
    added = ("scope", "parts", "cause")
    contrasts = [{k: v for k, v in one.items() if k not in added} for one in answer["contrasts"]]
    return {k: v for k, v in answer.items() if k not in added} | {"contrasts": contrasts}
