"""Runs mysqld or mariadbd as our own child, and reads from its log why it did not start or died."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.process_cleanup import kill, kill_inside
from steelyard.engines.local.server_process import ServerProcess, begin
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.life.thread_account import thaw

PROGRAMS = ("mysqld", "mariadbd")
_FIRST_PACKET_S = 5.0


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
