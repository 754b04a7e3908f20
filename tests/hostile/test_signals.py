"""SAFETY.md: a weighing cleans up however it is asked to end, also by a lost terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from steelyard.engines.defer_signals import ENDING, defer_signals

WEIGH = ("weigh", "aa", "--budget", "60s", "--set", "workload.scale=1")


def wait_until(holds: Callable[[], bool], limit_s: float = 120) -> None:
    """Fails where it never does."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def processes_in(place: Path) -> list[int]:
    """Processes whose working directory lies below `place`."""
    inside = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if Path(os.readlink(entry / "cwd")).is_relative_to(place):
                    inside.append(int(entry.name))
            except OSError:
                continue
    return inside


def close_terminal(process: subprocess.Popen[bytes], master: int) -> None:
    os.close(master)


def take_terminal() -> None:
    """The terminal is the process's own: when it is closed, the kernel sends SIGHUP."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def send(number: int) -> Callable[[subprocess.Popen[bytes], int], None]:
    return lambda process, master: process.send_signal(number)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("how", "status"),
    [
        pytest.param(close_terminal, 129, id="closed terminal"),
        pytest.param(send(signal.SIGHUP), 129, id="SIGHUP", marks=pytest.mark.long),
        pytest.param(send(signal.SIGQUIT), 131, id="SIGQUIT", marks=pytest.mark.long),
        pytest.param(send(signal.SIGTERM), 143, id="SIGTERM", marks=pytest.mark.long),
    ],
)
def test_a_weighing_that_is_ended_leaves_no_server_and_no_directory(
    cache: Path,
    tmp_path: Path,
    how: Callable[[subprocess.Popen[bytes], int], None],
    status: int,
) -> None:
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *WEIGH],
        cwd=tmp_path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509  no thread runs here
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(terminal)
    os.set_blocking(master, False)
    drained = bytearray()

    def serving() -> bool:
        with suppress(OSError):  # nothing was written since
            drained.extend(os.read(master, 1 << 16))
        assert process.poll() is None, drained.decode(errors="replace")
        return len([*cache.glob("run/*/slot*/*/postmaster.pid")]) > 1

    try:
        wait_until(serving)
        assert processes_in(cache)
        how(process, master)
        assert process.wait(60) == status
    finally:
        if process.poll() is None:  # it did not end as it should: nothing is left of it even so
            process.terminate()
            process.wait(60)
    assert not [one for one in (cache / "run").iterdir() if one.is_dir()]
    assert not processes_in(cache)


@pytest.mark.parametrize("number", ENDING)
def test_what_asks_a_program_to_end_waits_for_its_cleanup(number: int) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda number, frame: heard.append(number))
    try:
        with defer_signals():
            os.kill(os.getpid(), number)
            assert not heard
        assert heard == [number]
    finally:
        signal.signal(number, before)


def test_what_is_ignored_stays_ignored_as_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with defer_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


PROGRAM = """
import os, signal, sys
from steelyard.cli import app
sys.argv = ["steelyard", "--version"]
app.main()
os.kill(os.getpid(), signal.{name})
print("still there")
"""


@pytest.mark.parametrize(
    ("name", "ignored", "status"),
    [("SIGHUP", False, 129), ("SIGQUIT", False, 131), ("SIGTERM", False, 143), ("SIGHUP", True, 0)],
)
def test_the_program_ends_by_a_signal_unless_it_was_begun_without(
    name: str, ignored: bool, status: int
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)],
        preexec_fn=(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == status
    assert (b"still there" in ended.stdout) is ignored
