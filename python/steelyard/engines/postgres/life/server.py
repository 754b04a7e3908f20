"""Runs a server as our own child, and reads from its log why it did not start, or why it died.

`pg_ctl` is not used: not every build brings it, and it hides which process is the server's.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.processes import (
    ProcessSample,
    adopting_orphans,
    kill,
    kill_inside,
    tree,
    wait_for_orphans,
)
from steelyard.engines.local.server_process import ServerProcess, begin
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.cleanup import programs_of, remove_segments
from steelyard.engines.postgres.life.control import own_pid_file, read_pid_file
from steelyard.engines.postgres.process_tree import thaw_all

IMMEDIATE_TIMEOUT_S = 10.0


class Server(ServerProcess):
    """One life of a PostgreSQL server; its first process is the postmaster."""

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
        process, offset = begin(
            account,
            [build.program("postgres"), "-D", str(directory), *arguments],
            directory=directory,
            log=log,
            environment=build.environment,
            group=group,
        )
        return cls(name, process, directory, log, offset, account)

    def reason(self) -> str:
        """The message of the last FATAL or PANIC line; "" when there is none."""
        return reason(self.words())

    def quoted(self) -> str:
        """FATAL and PANIC lines with their DETAIL and HINT, else the tail."""
        return quoted(self.words())

    def begin_stop(self) -> None:
        """Request a fast shutdown with its checkpoint; safe to call twice."""
        self.process.send_signal(signal.SIGINT)

    def _shut_down(self, timeout_s: float) -> bool:
        thaw_all(self.pid)
        self.begin_stop()
        if self._wait(timeout_s):
            return self.process.returncode == 0
        self.process.send_signal(signal.SIGQUIT)
        self._wait(IMMEDIATE_TIMEOUT_S)
        return False

    def quit(self) -> None:
        """Immediate shutdown, which writes nothing; a kill where it leaves anything behind."""
        with self._killed_on_error():
            if self.running:
                self.process.send_signal(signal.SIGQUIT)
                if self._wait(IMMEDIATE_TIMEOUT_S) and own_pid_file(self.directory) is None:
                    return  # the postmaster waited for its children and removed their memory
        self.kill()

    def kill(self) -> None:
        """SIGKILL every process at once; removes shared memory.

        The postmaster is held first, so that it can neither start nor clean up anything between.
        """
        members: list[ProcessSample] = []
        if self.running:
            self.process.send_signal(signal.SIGSTOP)
            members = tree(self.pid)
        with adopting_orphans():
            for member in members:
                kill(member.pid, signal.SIGKILL)
            self.process.wait()
            wait_for_orphans(member.pid for member in members[1:])
        kill_inside(self.directory, self.account, programs_of(self.account))
        remove_segments(self.directory, self.account)

    def _ready(self) -> bool:
        lock = own_pid_file(self.directory)
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
_REFUSED = re.compile(r"\bLOG:  .*(?:\bparameter \"|\bin file \")")
"""What is wrong with a configuration file, above the FATAL line that says that something is."""
_VALUE = re.compile(r"(for parameter \"[^\"]+\"): \".*")
_CONTINUATION = re.compile(r"\b(DETAIL|HINT):  ")


def reason(output: str) -> str:
    """The message of the last FATAL or PANIC line; "" when there is none."""
    matches = _SEVERITY.findall(output)
    return matches[-1][1].strip() if matches else ""


def quoted(output: str) -> str:
    """The lines to quote in an error: FATAL and PANIC with their DETAIL and HINT, else the tail."""
    lines = output.strip().splitlines()
    chosen: list[str] = []
    for line in lines:
        if _SEVERITY.search(line) or (chosen and _CONTINUATION.search(line)):
            chosen.append(line.strip())
        elif _REFUSED.search(line):
            chosen.append(_VALUE.sub(r"\1", line.strip()))  # a file's values may be secrets
    return "\n".join(chosen[-TAIL_LINES:] or lines[-TAIL_LINES:])
