"""Runs a weighing for an agent, outlives it, and leaves nothing of the weighing behind.

    python -m steelyard.fleet.matrix.watcher FOLDER WORD...

`steelyard WORD...` is run in FOLDER. Standard input is a pipe that the kernel closes when the
agent ends, also by SIGKILL, or that the agent closes itself: then the weighing is told to end,
which tidies up; after a minute its processes are killed and its servers removed. The exit status of
the weighing is written to standard output. The lock of the host is inherited, and released with the
end of this process: no other weighing of a fleet begins before.

It is no child of the agent, for Ray kills the children of a worker that ends.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from steelyard.engines.cache import open_cache
from steelyard.engines.registry import clean_leftovers

OUTPUT = ".output"
"""What the weighing printed, in its folder."""
STOP_S = 60.0
"""Longest that a weighing may take to tidy up."""
KILLED_S = 10.0
"""Longest until its processes are gone when they were killed."""
_PR_SET_PDEATHSIG = 1
"""prctl(2)."""


def main(arguments: list[str]) -> int:
    """Part from the process that started this one, and watch."""
    if os.fork():
        return 0
    os.setsid()
    folder = Path(arguments[0])
    try:
        _watch(folder, arguments[1:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _watch(folder: Path, arguments: list[str]) -> None:
    """Until the agent is gone, or wants no more of the weighing."""
    child = _started(folder, arguments)
    try:
        if _ended_before_its_agent(child):
            with suppress(BrokenPipeError):  # the agent is gone
                os.write(sys.stdout.fileno(), f"{child.returncode}\n".encode())
            sys.stdin.buffer.read()  # it fetches the record
    finally:
        _end(child)


def _started(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    library = ctypes.CDLL(None)
    with (folder / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            close_fds=False,  # the lock of the host: where this process is killed, it stays held
            # Where this process is killed, the weighing ends too. No thread runs here.
            preexec_fn=lambda: library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509
        )


def _ended_before_its_agent(child: subprocess.Popen[bytes]) -> bool:
    """Waits for whichever ends first."""
    ended, poll = os.pidfd_open(child.pid), select.poll()
    try:
        poll.register(ended, select.POLLIN)
        poll.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
        happened = {number for number, _ in poll.poll()}
    finally:
        os.close(ended)
    if ended not in happened:
        return False
    child.wait()
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of the weighing runs afterwards; one that ended by itself has seen to that."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_S)
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(KILLED_S)
    if child.returncode < 0:  # killed, by whomever
        clean_leftovers(open_cache())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
