"""A server's process from its start to its end, on a shell that behaves like one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.engines.account import Account
from steelyard.engines.local.server_process import ServerProcess, begin
from steelyard.model.errors import ServerError

OURSELVES = Account("", os.geteuid(), os.getegid())


class Shell(ServerProcess):
    """Ready when its directory has a file "ready"."""

    def reason(self) -> str:
        return self.words().partition("why: ")[2].partition("\n")[0]

    def quoted(self) -> str:
        return self.words().strip()

    def begin_stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def _shut_down(self, timeout_s: float) -> bool:
        self.begin_stop()
        if not self._wait(timeout_s):
            self.kill()
        return self.process.returncode == 0

    def kill(self) -> None:
        if self.running:
            self.process.kill()
        self.process.wait()

    def _ready(self) -> bool:
        return (self.directory / "ready").exists()


class Started:
    """Starts shells in a directory, and leaves none."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._made: list[Shell] = []

    def __call__(self, script: str) -> Shell:
        log = self.directory / "log"
        process, offset = begin(
            OURSELVES,
            ["/bin/sh", "-c", script],
            directory=self.directory,
            log=log,
            environment={},
            group=None,
        )
        self._made.append(Shell("a shell", process, self.directory, log, offset, OURSELVES))
        return self._made[-1]

    def end(self) -> None:
        for one in self._made:
            one.kill()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    made = Started(tmp_path)
    yield made
    made.end()


STOPS = "trap 'exit 0' TERM; : >ready; while :; do sleep 0.01; done"
STAYS = "trap '' TERM; : >ready; while :; do sleep 0.01; done"
FAILS = "trap 'echo why: disk is full; exit 3' TERM; : >ready; while :; do sleep 0.01; done"


def test_a_server_is_waited_for_and_stops_when_it_is_asked(started: Started) -> None:
    shell = started(STOPS)
    shell.await_ready(None)
    assert shell.running
    shell.stop()
    assert not shell.running


def test_one_that_ends_before_it_is_ready_is_quoted(started: Started) -> None:
    with pytest.raises(ServerError) as caught:
        started("echo why: no such setting; exit 7").await_ready(None)
    assert caught.value.primary == "could not start a shell: no such setting"
    assert caught.value.detail == "why: no such setting"
    with pytest.raises(ServerError, match="it ended with status 7") as caught:
        started("exit 7").await_ready(None)
    assert caught.value.detail is None  # what the life before wrote is not quoted


def test_one_that_does_not_become_ready_is_killed(started: Started) -> None:
    shell = started("sleep 60")
    with pytest.raises(ServerError, match="not ready after 0 s"):
        shell.await_ready(None, timeout_s=0)
    assert not shell.running


def test_a_stop_that_must_be_forced_or_fails_is_an_error(started: Started) -> None:
    stays = started(STAYS)
    stays.await_ready(None)
    with pytest.raises(ServerError, match="could not stop a shell cleanly: it did not end within"):
        stays.stop(timeout_s=0.01)
    assert not stays.running
    (stays.directory / "ready").unlink()
    fails = started(FAILS)
    fails.await_ready(None)
    with pytest.raises(ServerError, match="could not stop a shell cleanly: disk is full"):
        fails.stop()


def test_a_wait_or_a_stop_that_is_interrupted_is_a_kill(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    starting, stopping = started("sleep 60"), started("sleep 60")
    monkeypatch.setattr(Shell, "_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        starting.await_ready(None)
    monkeypatch.setattr(Shell, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stopping.stop()
    assert not starting.running
    assert not stopping.running


def test_of_a_long_log_the_end_is_read(started: Started) -> None:
    shell = started("head -c 100000 /dev/zero | tr '\\0' a; echo end")
    shell.process.wait()
    assert len(shell.words()) == 64 * 1024
    assert shell.words().endswith("aaaend\n")
