"""A process of many threads is held still, all of it, or goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engines.mysql.thread_states import states_of
from steelyard.engines.local.processes import ProcessSample, sample, threads_of
from steelyard.engines.mysql.life import server as module
from steelyard.engines.mysql.life.server import freeze, thaw
from steelyard.model.errors import ServerError

THREADS = """
import sys, threading
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(flush=True)
for line in sys.stdin:
    print("on", flush=True)
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """One that answers every line that it is sent with "on"; four threads."""
    command = [sys.executable, "-c", THREADS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def goes_on(process: subprocess.Popen[str]) -> bool:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline() == "on\n"


def running_for(looks: int, tid: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """/proc says for that many looks at a thread that it runs; the looks at it so far."""
    seen: list[int] = []

    def told(pid: int) -> ProcessSample | None:
        found = sample(pid)
        if pid != tid or found is None:
            return found
        seen.append(pid)
        return found if len(seen) > looks else replace(found, state="R")

    monkeypatch.setattr(module, "sample", told)
    return seen


def test_a_process_is_frozen_when_its_last_thread_stands_still(
    process: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = threads_of(process.pid)
    assert len(threads) == 4
    seen = running_for(3, threads[-1], monkeypatch)
    freeze(process.pid)
    assert len(seen) > 3
    assert states_of(process.pid) == {"T"}
    thaw(process.pid)
    assert goes_on(process)


@pytest.mark.parametrize("which", [0, -1])
def test_a_process_with_a_thread_that_does_not_stop_is_not_held(
    which: int, process: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.05)
    running_for(10**9, threads_of(process.pid)[which], monkeypatch)
    with pytest.raises(ServerError, match="could not freeze") as refused:
        freeze(process.pid)
    assert str(process.pid) in (refused.value.detail or "")
    assert goes_on(process)


def test_an_interrupt_meanwhile_leaves_the_process_going(
    process: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(pid: int) -> ProcessSample | None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        freeze(process.pid)
    assert goes_on(process)


def test_a_process_that_has_gone_is_no_error(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    freeze(process.pid)
    thaw(process.pid)
