"""Ways to break a real balance: each meddles with the processes of a weighing under way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from postgres.underway import Underway
from steelyard.engines.account import choose_account
from steelyard.engines.local.processes import tree
from steelyard.engines.postgres.process_tree import CLIENT, kind_of
from steelyard.engines.programs import pin
from steelyard.model.errors import EngineError

_SPIN = "while True: pass"
_SPIN_WHEN_TOLD = """
import sys, time
while line := sys.stdin.readline():
    until = time.monotonic() + float(line)
    while time.monotonic() < until: pass
"""


@contextmanager
def _over_and_over(act: Callable[[], None], pause_s: float) -> Iterator[None]:
    """Does something again and again beside the test; its first error is raised at the end."""
    ended, errors = threading.Event(), []

    def work() -> None:
        try:
            while not ended.wait(pause_s):
                act()
        except (OSError, EngineError, AssertionError) as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not errors, errors


@contextmanager
def _pinned(source: str, processors: Sequence[int]) -> Iterator[list[subprocess.Popen[str]]]:
    """A Python program on each of the processors."""
    with ExitStack() as stack:
        started = []
        for processor in processors:
            command = [sys.executable, "-I", "-c", source]
            # A session each: a kernel that groups processes by session gives each its share.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, text=True, start_new_session=True
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {processor})
            started.append(process)
        yield started
        for process in started:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()


@contextmanager
def throttled_slot(weighing: Underway, loops: int) -> Iterator[None]:
    """Clients of the server in slot k are served on processor k, and busy loops share processor 0
    with those of slot 0 while there are any. Placement must be "free"."""
    processors = sorted(os.sched_getaffinity(0))[:2]
    account = choose_account()
    placed: set[int] = set()
    with _pinned(_SPIN, [processors[0]] * loops) as spinning:

        def tie() -> None:
            served = {slot: _backends(pid) for slot, pid in weighing.postmasters().items()}
            for slot, backends in served.items():
                new = set(backends) - placed
                with suppress(EngineError):  # one that has ended meanwhile
                    pin(account, {pid: [processors[slot]] for pid in new})
                    placed.update(new)
            resting = not any(served.values())
            _signal([p.pid for p in spinning], signal.SIGSTOP if resting else signal.SIGCONT)

        with _over_and_over(tie, 0.1):
            yield


@contextmanager
def aftermath(weighing: Underway, arm: str, spin_s: float) -> Iterator[None]:
    """Whenever a slice of an arm ends, something of it goes on for a while on every processor."""
    position = 0
    with _pinned(_SPIN_WHEN_TOLD, sorted(os.sched_getaffinity(0))) as spinning:

        def follow() -> None:
            nonlocal position
            with (weighing.record / "slices.jsonl").open() as record:
                record.seek(position)
                text = record.read()
            whole = text.rpartition("\n")[0]
            position += len(whole.encode()) + bool(whole)
            if whole and json.loads(whole.rpartition("\n")[2])["arm"] == arm:
                for process in spinning:
                    assert process.stdin is not None
                    process.stdin.write(f"{spin_s}\n")
                    process.stdin.flush()

        with _over_and_over(follow, 0.001):
            yield


@contextmanager
def slow_second_start(weighing: Underway, stop_s: float, go_s: float) -> Iterator[None]:
    """The server that was started last of an epoch stands still for a part of its time."""

    def hobble() -> None:
        postmasters = list(weighing.postmasters().values())
        if len(postmasters) < 2:
            return
        backends = _backends(max(postmasters, key=lambda pid: (_began(pid), pid)))
        _signal(backends, signal.SIGSTOP)
        time.sleep(stop_s)
        _signal(backends, signal.SIGCONT)

    with _over_and_over(hobble, go_s):
        yield


@contextmanager
def continued_background(weighing: Underway) -> Iterator[None]:
    """Of every server that stands wholly still, one background process goes on: what its timers
    are due for it does in the slices of the other arm."""

    def go_on() -> None:
        for postmaster in weighing.postmasters().values():
            members = tree(postmaster)
            background = [one.pid for one in members[1:] if kind_of(one.pid) != CLIENT]
            if background and all(one.state == "T" for one in members):
                _signal(background[-1:], signal.SIGCONT)

    # Less often than arms change: a server that is being stopped must come to a stand.
    with _over_and_over(go_on, 0.3):
        yield


def _backends(postmaster: int) -> list[int]:
    return [one.pid for one in tree(postmaster)[1:] if kind_of(one.pid) == CLIENT]


def _began(pid: int) -> int:
    return next((one.started for one in tree(pid)[:1]), 0)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
