"""Runs mysqld or mariadbd as our own child, and reads from its log why it did not start or died."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.local.ending import kill, kill_inside
from steelyard.engines.local.logs import log_since
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.programs import launch
from steelyard.model.errors import ServerError

PROGRAMS = ("mysqld", "mariadbd")
START_TIMEOUT_S = 600.0  # crash recovery of a large instance takes minutes
STOP_TIMEOUT_S = 300.0  # so does writing a large buffer pool to a slow disk
_POLL_S = 0.005
_GREETING_S = 5.0


@dataclass
class Server:
    """One life of a server, from its start to its end."""

    name: str  # for messages: "MySQL 5.7.29 in slot 0"
    process: subprocess.Popen[bytes]
    directory: Path
    socket: Path
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
        socket_path: Path,
        log: Path,
        arguments: Sequence[str],
        group: MemoryGroup | None = None,
    ) -> Server:
        """Begin to start a server, which `await_ready` waits for."""
        socket_path.unlink(missing_ok=True)
        with log.open("ab") as output:
            offset = output.tell()
            process = launch(
                account,
                [str(build.server), *arguments, f"--socket={socket_path}"],
                directory=directory,
                output=output,
                environment=build.environment,
                group=group,
            )
        return cls(name, process, directory, socket_path, log, offset, account)

    def await_ready(self, group: MemoryGroup | None, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until it greets who connects, in the group that it was launched in; ServerError
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
        """Whether it lives."""
        return self.process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def words(self) -> str:
        """What it wrote to its log in this life, at most the last 64 kB."""
        return log_since(self.log, self.log_offset)

    def begin_stop(self) -> None:
        """Ask for a clean shutdown, which writes every dirty page; asked again it goes on."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Clean shutdown; ServerError when it had to be forced or failed. Interrupted, it becomes
        a kill: no server is left behind."""
        try:
            self.begin_stop()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()
            if self.process.returncode != 0:
                raise ServerError(
                    f"could not stop {self.name} cleanly: "
                    + (reason(self.words()) or f"it did not end within {timeout_s:.0f} s"),
                    detail=quoted(self.words()),
                )
        except BaseException:
            with defer_signals():
                self.kill()
            raise

    def kill(self) -> None:
        """SIGKILL it; nothing of it is left running."""
        if self.running:
            kill(self.pid, signal.SIGKILL)
        self.process.wait()
        kill_inside(self.directory, self.account, PROGRAMS)

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._greets():
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

    def _greets(self) -> bool:
        """Whether it sends the first packet of a connection: it listens a little earlier."""
        if not self.socket.exists():
            return False

        def try_it() -> bool:
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(_GREETING_S)
                try:
                    door.connect(str(self.socket))
                    return len(door.recv(5)) == 5
                except OSError:
                    return False

        # The directory of the socket is the account's alone.
        greeted: bool = self.account.call(try_it)
        return greeted


TAIL_LINES = 12
# "2026-11-23T23:22:47.589653Z 0 [ERROR] Parsing options failed." of MySQL 5.7, with "[MY-010119]
# [Server]" behind it from 8.0 on; "2026-11-23 23:22:47 0 [ERROR] ..." of MariaDB.
_ERROR = re.compile(r"\[ERROR\](?: \[[^\]]*\])*\s+(.*)")
_LAST = ("Aborting", "Unknown/unsupported storage engine: InnoDB")
"""What is said when something else was the reason."""
_NO_REASON = re.compile(r"Could not open mysql\.plugin|Can't change dir to")
"""Said by a server that is only asked for its help."""


def reason(words: str) -> str:
    """The first error of a log that says why; "" when there is none."""
    found: list[str] = [message.strip() for message in _ERROR.findall(words)]
    telling = [one for one in found if one not in _LAST and not _NO_REASON.search(one)]
    return (telling or [one for one in found if one in _LAST] or [""])[0]


def quoted(words: str) -> str:
    """The lines to quote in an error: those of level ERROR, else the tail."""
    lines = words.strip().splitlines()
    chosen = [line.strip() for line in lines if _ERROR.search(line)]
    return "\n".join(chosen[-TAIL_LINES:] or lines[-TAIL_LINES:])
