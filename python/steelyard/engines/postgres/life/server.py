"""Runs a server as our own child, and reads from its log why it did not start, or why it died.

`pg_ctl` is not used: not every build brings it, and it hides which process is the server's.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.local.ending import adopting_orphans, kill, kill_inside, wait_for_orphans
from steelyard.engines.local.logs import log_since
from steelyard.engines.local.samples import Sample, tree
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.engines.postgres.processes.cleanup import PROGRAMS, remove_segments
from steelyard.engines.programs import launch
from steelyard.model.errors import ServerError

START_TIMEOUT_S = 600.0  # crash recovery of a large cluster takes minutes
STOP_TIMEOUT_S = 300.0  # so does the checkpoint of a large buffer pool on a slow disk
IMMEDIATE_TIMEOUT_S = 10.0
_POLL_S = 0.005


@dataclass
class Server:
    """One life of a server, from its start to its end."""

    name: str  # for messages: "PostgreSQL 18.4 in slot 0"
    process: subprocess.Popen[bytes]
    directory: Path
    log: Path
    log_offset: int
    account: Account

    @classmethod
    def launch(
        cls,
        name: str,
        build: Build,
        account: Account,
        directory: Path,
        log: Path,
        arguments: Sequence[str],
        group: MemoryGroup | None = None,
    ) -> Server:
        """Begin to start a server, which `await_ready` waits for."""
        command = [build.program("postgres"), "-D", str(directory), *arguments]
        with log.open("ab") as output:
            offset = output.tell()
            process = launch(
                account,
                command,
                directory=directory,
                output=output,
                environment=build.environment,
                group=group,
            )
        return cls(name, process, directory, log, offset, account)

    def await_ready(self, group: MemoryGroup | None, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until it accepts connections, in the group that it was launched in; ServerError
        quotes its log, and nothing of it is left."""
        try:
            self._wait_until_ready(timeout_s)
            if group is not None:
                group.settle(self.pid)
        except BaseException:
            with defer_signals():
                self.kill()
            raise

    @property
    def running(self) -> bool:
        """Whether the postmaster lives."""
        return self.process.poll() is None

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        return self.process.pid

    def words(self) -> str:
        """What the server wrote to its log in this life, at most the last 64 kB."""
        return log_since(self.log, self.log_offset)

    def begin_stop(self) -> None:
        """Ask for a fast shutdown with its checkpoint; asked again it goes on with that."""
        self.process.send_signal(signal.SIGINT)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Fast shutdown with its checkpoint; ServerError when it had to be forced or failed.

        Interrupted, it becomes a kill: no server is left behind.
        """
        try:
            self._stop(timeout_s)
        except BaseException:
            with defer_signals():
                self.kill()
            raise

    def _stop(self, timeout_s: float) -> None:
        for number, patience_s in (
            (signal.SIGINT, timeout_s),
            (signal.SIGQUIT, IMMEDIATE_TIMEOUT_S),
        ):
            self.process.send_signal(number)
            if not self._wait(patience_s):
                continue
            if number == signal.SIGINT and self.process.returncode == 0:
                return
            break
        raise ServerError(
            f"could not stop {self.name} cleanly: "
            + (reason(self.words()) or f"it did not end within {timeout_s:.0f} s"),
            detail=quoted(self.words()),
        )

    def quit(self) -> None:
        """Immediate shutdown, which writes nothing; a kill where it leaves anything behind."""
        try:
            if self.running:
                self.process.send_signal(signal.SIGQUIT)
                if self._wait(IMMEDIATE_TIMEOUT_S) and read_pid_file(self.directory) is None:
                    return  # the postmaster waited for its children and removed their memory
        except BaseException:
            with defer_signals():
                self.kill()
            raise
        self.kill()

    def kill(self) -> list[int]:
        """SIGKILL every process at once; removes shared memory; the process ids that were killed.

        The postmaster is held first, so that it can neither start nor clean up anything between.
        """
        members: list[Sample] = []
        if self.running:
            self.process.send_signal(signal.SIGSTOP)
            members = tree(self.pid)
        with adopting_orphans():
            for member in members:
                kill(member.pid, signal.SIGKILL)
            self.process.wait()
            wait_for_orphans(member.pid for member in members[1:])
        kill_inside(self.directory, self.account, PROGRAMS)
        remove_segments(self.directory, self.account)
        return [member.pid for member in members]

    def _wait(self, patience_s: float) -> bool:
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._ready():
            if not self.running:
                words = self.words()
                raise ServerError(
                    f"could not start {self.name}: "
                    + (reason(words) or f"it ended with status {self.process.returncode}"),
                    detail=quoted(words) or None,
                    hint=f'The whole log is in "{self.log}".',
                )
            if time.monotonic() > deadline:
                raise ServerError(
                    f"could not start {self.name}: not ready after {timeout_s:.0f} s",
                    detail=quoted(self.words()) or None,
                )
            time.sleep(_POLL_S)

    def _ready(self) -> bool:
        lock = read_pid_file(self.directory)
        # The file of a crashed life may still stand there, with another process id.
        return lock is not None and lock.pid == self.pid and lock.status in ("ready", "standby")


def serving_pid(directory: Path) -> int | None:
    """The process id of a server that lives in `directory`, whatever started it."""
    lock = read_pid_file(directory)
    if lock is None:
        return None
    try:
        if os.path.samefile(f"/proc/{lock.pid}/cwd", directory):
            return lock.pid
    except OSError:
        return None
    return None


TAIL_LINES = 12
_SEVERITY = re.compile(r"\b(FATAL|PANIC):  (.*)")
_CONTINUATION = re.compile(r"\b(DETAIL|HINT):  ")


def reason(words: str) -> str:
    """The message of the last FATAL or PANIC line; "" when there is none."""
    found = _SEVERITY.findall(words)
    return found[-1][1].strip() if found else ""


def quoted(words: str) -> str:
    """The lines to quote in an error: FATAL and PANIC with their DETAIL and HINT, else the tail."""
    lines = words.strip().splitlines()
    chosen: list[str] = []
    for line in lines:
        if _SEVERITY.search(line) or (chosen and _CONTINUATION.search(line)):
            chosen.append(line.strip())
    return "\n".join(chosen[-TAIL_LINES:] or lines[-TAIL_LINES:])
