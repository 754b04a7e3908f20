"""Runs a server as our own child: waits until it is ready, stops it, and reads its log."""

from __future__ import annotations

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.programs import launch
from steelyard.model.errors import ServerError

START_TIMEOUT_S = 600.0  # crash recovery of a large database takes minutes
STOP_TIMEOUT_S = 300.0  # so does writing a large buffer pool to a slow disk
_POLL_S = 0.005
_TAIL_BYTES = 64 * 1024


def begin(
    account: Account,
    command: Sequence[str],
    *,
    directory: Path,
    log: Path,
    environment: Mapping[str, str],
    group: MemoryGroup | None,
    own_session: bool = True,
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server's program in its data directory, its output appended to a log; where in the
    log this life begins, in bytes."""
    with log.open("ab") as output:
        offset = output.tell()
        process = launch(
            account,
            command,
            directory=directory,
            output=output,
            environment=environment,
            group=group,
            own_session=own_session,
        )
    return process, offset


@dataclass
class ServerProcess(ABC):
    """One life of a server, from its start to its end."""

    name: str  # for messages: "PostgreSQL 18.4 in slot 0"
    process: subprocess.Popen[bytes]
    directory: Path
    log: Path
    log_offset: int
    account: Account

    @property
    def running(self) -> bool:
        """Whether its first process lives."""
        return self.process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of its first process."""
        return self.process.pid

    def words(self) -> str:
        """What it wrote to its log in this life, at most the last 64 kB."""
        try:
            with self.log.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(self.log_offset, file.tell() - _TAIL_BYTES))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    @abstractmethod
    def reason(self) -> str:
        """The message of its log that gives the reason why it ended; "" when there is none."""

    @abstractmethod
    def quoted(self) -> str:
        """The lines of this life's log to quote in an error."""

    def await_ready(self, group: MemoryGroup | None, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until it accepts connections, in the group that it was launched in; ServerError
        quotes its log, and nothing of it is left."""
        with self._killed_on_error():
            self._wait_until_ready(timeout_s)
            if group is not None:
                group.settle(self.pid)

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._ready():
            if not self.running:
                raise ServerError(
                    f"could not start {self.name}: "
                    + (self.reason() or f"it ended with status {self.process.returncode}"),
                    detail=self.quoted() or None,
                )
            if time.monotonic() > deadline:
                raise ServerError(
                    f"could not start {self.name}: not ready after {timeout_s:.0f} s",
                    detail=self.quoted() or None,
                )
            time.sleep(_POLL_S)

    @abstractmethod
    def _ready(self) -> bool:
        """Whether it accepts connections now."""

    @abstractmethod
    def begin_stop(self) -> None:
        """Request a clean shutdown, which writes every dirty page; safe to call twice."""

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Clean shutdown; ServerError when it had to be forced or failed. Interrupted, it becomes
        a kill: no server is left behind."""
        with self._killed_on_error():
            if not self._shut_down(timeout_s):
                raise ServerError(
                    f"could not stop {self.name} cleanly: "
                    + (self.reason() or f"it did not end within {timeout_s:.0f} s"),
                    detail=self.quoted(),
                )

    @abstractmethod
    def _shut_down(self, timeout_s: float) -> bool:
        """Shut down cleanly, or by force when that takes longer; whether it was clean."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL every process of it at once; nothing of it is left running."""

    @contextmanager
    def _killed_on_error(self) -> Iterator[None]:
        """Kill it when the block is left by an error or an interrupt."""
        try:
            yield
        except BaseException:
            with defer_signals():
                self.kill()
            raise

    def _wait(self, patience_s: float) -> bool:
        """Whether its first process ends within a time."""
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return False
        return True
