"""Runs mysqld or mariadbd as our own child, reads from its log why it did not start or died, and
keeps account of its threads from /proc: processor time, and which serve a client.

A server of MySQL is one process, and each connection is served by a thread of its own, which is
kept for the next one when the client has gone. Times of a thread are those of
/proc/PID/task/TID/schedstat; that of the whole process, ended threads with it, is its own clock
(clock_getcpuclockid(3)), which counts in ns.

Stops a server with all its threads, so that an idle arm's debt is not paid meanwhile.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.processes import (
    kill,
    kill_inside,
    processor_ns,
    sample,
    threads_of,
    transferred,
)
from steelyard.engines.local.server_process import ServerProcess, begin
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.mysql.builds.build import Build
from steelyard.model.errors import ServerError
from steelyard.model.process import Duty, Process, TreeUse

PROGRAMS = ("mysqld", "mariadbd")
_FIRST_PACKET_S = 5.0
SERVER = "server"
SESSION = "client session"
BACKGROUND = "background thread"


@dataclass
class Server(ServerProcess):
    """One life of a server of MySQL or MariaDB, which is one process."""

    socket: Path

    @classmethod
    def launch(
        cls,
        name: str,
        build: Build,
        account: Account,
        directory: Path,
        socket_path: Path,
        log: Path,
        arguments: Sequence[str],
        group: MemoryGroup | None = None,
    ) -> Server:
        """Begin to start a server, which `await_ready` waits for."""
        account.remove([socket_path])
        process, offset = begin(
            account,
            [str(build.server), *arguments, f"--socket={socket_path}"],
            directory=directory,
            log=log,
            environment=build.environment,
            group=group,
            # In a session of its own it is one autogroup, which a driver preempts at every answer.
            own_session=False,
        )
        return cls(name, process, directory, log, offset, account, socket_path)

    def reason(self) -> str:
        """The first error of its log that gives a reason; "" when there is none."""
        return reason(self.words())

    def quoted(self) -> str:
        """The lines of level ERROR, else the tail."""
        return quoted(self.words())

    def begin_stop(self) -> None:
        """Request a clean shutdown, which writes every dirty page; safe to call twice."""
        self.process.send_signal(signal.SIGTERM)

    def _shut_down(self, timeout_s: float) -> bool:
        thaw(self.pid)  # whatever stopped it: it would not see that it is to end
        self.begin_stop()
        if not self._wait(timeout_s):
            self.kill()
        return self.process.returncode == 0

    def kill(self) -> None:
        """SIGKILL it; nothing of it is left running."""
        if self.running:
            kill(self.pid, signal.SIGKILL)
        self.process.wait()
        kill_inside(self.directory, self.account, PROGRAMS)

    def _ready(self) -> bool:
        """Whether it sends the first packet of a connection: it listens a little earlier."""
        if not os.path.lexists(self.socket):
            return False

        def try_it() -> bool:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(_FIRST_PACKET_S)
                try:
                    client.connect(str(self.socket))
                    return len(client.recv(5)) == 5
                except OSError:
                    return False

        # The directory of the socket is the account's alone.
        ready: bool = self.account.call(try_it)
        return ready


TAIL_LINES = 12
# "2026-11-23T23:22:47.589653Z 0 [ERROR] Parsing options failed." of MySQL 5.7, with "[MY-010119]
# [Server]" behind it from 8.0 on; "2026-11-23 23:22:47 0 [ERROR] ..." of MariaDB.
_ERROR = re.compile(r"\[ERROR\](?: \[[^\]]*\])*\s+(.*)")
_LAST = ("Aborting", "Unknown/unsupported storage engine: InnoDB")
"""Messages that follow another error, which is the reason."""
_NO_REASON = re.compile(r"Could not open mysql\.plugin|Can't change dir to")
"""Messages of a server that only prints its help."""


def reason(log: str) -> str:
    """The first error of a log that gives a reason; "" when there is none."""
    messages: list[str] = [message.strip() for message in _ERROR.findall(log)]
    telling = [
        message for message in messages if message not in _LAST and not _NO_REASON.search(message)
    ]
    return (telling or [message for message in messages if message in _LAST] or [""])[0]


def quoted(log: str) -> str:
    """The lines to quote in an error: those of level ERROR, else the tail."""
    lines = log.strip().splitlines()
    chosen = [line.strip() for line in lines if _ERROR.search(line)]
    return "\n".join(chosen[-TAIL_LINES:] or lines[-TAIL_LINES:])


@dataclass
class ThreadAccount:
    """The running account of one server's process; counts from its start."""

    pid: int
    account: Account
    sessions: set[int] = field(default_factory=set)
    """Threads that were seen to serve a client."""
    looked_at: int = -1
    """How many threads there were when the server was asked which serve clients."""

    def use(self) -> TreeUse:
        """What the process used so far."""
        counted = transferred([self.pid], self.account)
        read, written, requested = counted or (0, 0, 0)
        now = sample(self.pid)
        return TreeUse(
            cpu_ns=processor_ns(self.pid),
            read_bytes=read,
            written_bytes=written,
            requested_bytes=requested,
            mapped_pages=0 if now is None else now.minor_faults,
            processes=tuple(self._threads()),
            transfers_known=counted is not None,
        )

    def serving(self, threads: Mapping[int, int] | Collection[int]) -> None:
        """These threads serve clients."""
        self.sessions |= set(threads.values() if isinstance(threads, Mapping) else threads)

    def _threads(self) -> list[Process]:
        processes = []
        for tid in threads_of(self.pid):
            cpu_ns, queue_ns = _times_ns(self.pid, tid)
            session = tid in self.sessions
            kind = SERVER if tid == self.pid else SESSION if session else BACKGROUND
            # Most of what they do is writing out pages, as a checkpoint does.
            duty: Duty = "session" if session else "checkpoint"
            processes.append(Process(tid, kind, cpu_ns, queue_ns, duty))
        return processes


def _times_ns(pid: int, tid: int) -> tuple[int, int]:
    """On a processor, and runnable without one; 0 where the thread has gone."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", "rb") as file:
            on, queued = map(int, file.read().split()[:2])
    except (OSError, ValueError):
        return 0, 0
    return on, queued


_TIMEOUT_S = 10.0
"""What waits for the disk stops when it has its answer."""
_POLL_S = 0.001


def freeze(pid: int) -> None:
    """SIGSTOP a process and wait until each of its threads stands still; ServerError: one does
    not, and the process goes on."""
    deadline = time.monotonic() + _TIMEOUT_S
    try:
        kill(pid, signal.SIGSTOP)
        while not _stands_still(pid):
            if time.monotonic() > deadline:
                raise ServerError(
                    "could not freeze a server",
                    detail=f"After {_TIMEOUT_S:.0f} s not all threads of {pid} stood still.",
                )
            time.sleep(_POLL_S)
    except BaseException:  # an interrupt as well
        thaw(pid)
        raise


def thaw(pid: int) -> None:
    """SIGCONT what `freeze` stopped; a process that has gone is no error."""
    kill(pid, signal.SIGCONT)


def _stands_still(pid: int) -> bool:
    """Every thread is stopped, or has gone: SIGSTOP reaches each when it is next scheduled, and
    the leading thread's state, which is /proc's for the process, tells nothing of the others."""
    states = map(sample, threads_of(pid))
    return all(state is None or state.still for state in states)
