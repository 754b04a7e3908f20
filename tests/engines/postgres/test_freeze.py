"""Trees of plain processes are held still, whole, and what moved meanwhile is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.engines.local.processes import ProcessSample, kill, processor_ns, stands_still, tree
from steelyard.engines.postgres import process_tree as module
from steelyard.engines.postgres.process_tree import Suspension, suspend, thaw, thaw_all
from steelyard.model.errors import ServerError

BUSY = "print(flush=True)\nwhile True: pass\n"
BUSY_THREAD = """
import threading, time
def run():
    while True: pass
threading.Thread(target=run, daemon=True).start()
print(flush=True)
threading.Event().wait()
"""
FORKING = """
import os, subprocess, sys
child = os.fork()  # as the archiver does: the first process has no part in it
print(flush=True)
while True:
    if child:
        os.waitpid(child, 0)
    else:
        subprocess.run(["/bin/sh", "-c", "true; true"])
"""
"""Of a child that runs one short program after another."""
STARTING = """
import os, sys
child = os.fork()
if child:
    os.waitpid(child, 0)
print(flush=True)
read = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)
os.waitpid(os.posix_spawn("/bin/sleep", ["sleep", "60"], {}, file_actions=[read]), 0)
"""
"""Of a child that waits in vfork(2), where nothing stops it, until a named pipe is written to."""

Starts = Callable[..., int]


@pytest.fixture
def starts() -> Iterator[Starts]:
    """Starts a program of Python that prints a line when it is under way; its process id."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str, *arguments: str) -> int:
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        for member in tree(process.pid):
            kill(member.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def meanwhile(pid: int, seconds: float = 0.1) -> None:
    """Let a process that stands still go on for some time."""
    os.kill(pid, signal.SIGCONT)
    time.sleep(seconds)
    os.kill(pid, signal.SIGSTOP)


def test_children_that_appear_while_a_tree_is_stopped_are_stopped_too(starts: Starts) -> None:
    root = starts(FORKING)
    for _ in range(10):
        pids = suspend(root)
        before = {member.pid: processor_ns(member.pid) for member in tree(root)}
        time.sleep(0.01)
        after = {member.pid: processor_ns(member.pid) for member in tree(root)}
        assert after == before
        assert {member.pid for member in tree(root) if member.state != "Z"} <= {*pids}
        thaw(pids)
        time.sleep(0.003)


def test_a_process_that_is_just_starting_a_program_is_stopped_with_it(
    starts: Starts, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    root = starts(STARTING, str(pipe))
    while len(tree(root)) < 3:
        time.sleep(0.001)

    def let_it_start() -> None:
        time.sleep(0.1)
        pipe.write_bytes(b"")

    helper = threading.Thread(target=let_it_start)
    helper.start()
    pids = suspend(root)
    helper.join()
    assert [member.state for member in tree(root)] == ["T", "T", "T"]
    assert pids == [member.pid for member in tree(root)]
    thaw(pids)


def test_a_tree_that_stands_still_uses_nothing_and_goes_on(starts: Starts) -> None:
    root = starts(BUSY)
    suspension = Suspension.of(root)
    time.sleep(0.05)
    assert suspension.end() == 0
    before_ns = processor_ns(root)
    time.sleep(0.2)
    assert processor_ns(root) > before_ns


@pytest.mark.parametrize("code", [BUSY, BUSY_THREAD], ids=["its first thread", "another thread"])
def test_whatever_thread_moved_meanwhile_is_noticed(code: str, starts: Starts) -> None:
    root = starts(code)
    suspension = Suspension.of(root)
    meanwhile(root)
    assert suspension.end() > 1_000_000


def test_a_process_with_a_thread_that_runs_does_not_stand_still() -> None:
    ourselves = tree(os.getpid())[0]
    stopped = ProcessSample(ourselves.pid, 1, "T", 0, 0, 0, threads=2)
    assert stands_still(ProcessSample(ourselves.pid, 1, "T", 0, 0, 0))
    assert not stands_still(stopped)  # its threads are ours, and one is just looking


def test_one_that_ended_meanwhile_does_not_hide_what_another_used(starts: Starts) -> None:
    root, beside = starts(BUSY), starts(BUSY)
    time.sleep(0.3)
    suspension = Suspension.of(root, beside)
    os.kill(beside, signal.SIGKILL)
    os.waitpid(beside, 0)
    meanwhile(root, 0.05)
    assert suspension.end() > 1_000_000


def test_programs_beside_a_server_are_held_and_go_on_with_it(starts: Starts) -> None:
    root, beside = starts(BUSY), starts(FORKING)
    suspension = Suspension.of(root, beside)
    assert {member.state for pid in (root, beside) for member in tree(pid)} <= {"T", "Z"}
    assert suspension.end() == 0
    time.sleep(0.05)
    assert all(member.state != "T" for pid in (root, beside) for member in tree(pid))


def test_where_one_does_not_stop_all_go_on(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    root, beside = starts(BUSY), starts(BUSY)
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.05)
    monkeypatch.setattr(module, "stands_still", lambda member: member.pid != root and member.still)
    with pytest.raises(ServerError, match="could not freeze"):
        Suspension.of(root, beside)
    time.sleep(0.05)
    assert all(tree(pid)[0].state != "T" for pid in (root, beside))


def test_one_that_has_gone_is_no_error(starts: Starts) -> None:
    root, gone = starts(BUSY), starts(BUSY)
    os.kill(gone, signal.SIGKILL)
    os.waitpid(gone, 0)
    assert Suspension.of(root, gone).end() == 0
    thaw_all(gone)
