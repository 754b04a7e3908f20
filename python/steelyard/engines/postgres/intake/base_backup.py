"""Runs pg_basebackup, whose speed, size and words are those of a server that is not ours."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import free_bytes
from steelyard.engines.programs import launch
from steelyard.model.errors import ServerError
from steelyard.model.units import format_bytes

STILL_S = 300.0
"""How long no byte may come: a backup begins with a checkpoint, of minutes where much is dirty."""
BUSY_S = 5.0
"""Processor time without a byte: a login that computes, not one that waits."""
RESERVE_BYTES = 256 << 20
"""What is left free on the disk."""
MEMORY_BYTES = 384 << 20
"""Address space of the program: libpq would keep a message of any length."""
_LOOK_S = 0.2
_WORDS_BYTES = 8192
_TERMINATED_S = 3.0


def run_backup(
    account: Account,
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    still_s: float = STILL_S,
    written: Callable[[int], None] = lambda _: None,
) -> tuple[int, str]:
    """Exit status and last words of a backup into a directory; `written` is called now and then
    with the bytes so far.

    ServerError: nothing came for `still_s`, it computed and did not write, or the disk would be
    full. What ends us, Ctrl-C too, ends it.
    """
    process = launch(
        account,
        command,
        directory=directory,
        output=subprocess.DEVNULL,
        environment=environment,
        errors=subprocess.PIPE,
        own_session=False,
    )

    def limit() -> None:
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))

    try:
        account.call(limit)
        return _Watch(account, process, directory, still_s, written).until_it_ends()
    finally:
        _end(process)


class _Watch:
    def __init__(
        self,
        account: Account,
        process: subprocess.Popen[bytes],
        directory: Path,
        still_s: float,
        report_bytes: Callable[[int], None],
    ) -> None:
        assert process.stderr is not None
        self._account = account
        self._process, self._errors = process, process.stderr.fileno()
        self._directory, self._still_s = directory, still_s
        self._report_bytes = report_bytes
        self._words = b""
        self._written = -1
        self._since, self._spent_s = time.monotonic(), 0.0

    def until_it_ends(self) -> tuple[int, str]:
        """Its status and words; ServerError."""
        while True:
            ready = select.select([self._errors], [], [], _LOOK_S)[0]
            piece = os.read(self._errors, 1 << 16) if ready else None
            if piece == b"":
                return self._process.wait(), self._words.decode(errors="replace")
            self._words = (self._words + (piece or b""))[-_WORDS_BYTES:]
            self._require_progress()
            free = free_bytes(self._directory)
            if free < RESERVE_BYTES:
                raise ServerError(
                    f"could not take a base backup of the server: {format_bytes(free)} are free",
                    detail="The server sent more than it had said.",
                    hint="Free some room, or move the cache: STEELYARD_CACHE.",
                )

    def _require_progress(self) -> None:
        pid = self._process.pid
        written: int = self._account.call(lambda: _written_bytes(pid))
        self._report_bytes(written)
        spent_s = _processor_s(pid)
        now = time.monotonic()
        if written != self._written:
            self._written, self._since, self._spent_s = written, now, spent_s
        still_s = now - self._since
        if still_s > self._still_s or spent_s - self._spent_s > BUSY_S:
            raise ServerError(
                f"could not take a base backup of the server: it sent nothing for {still_s:.0f} s",
                hint="Look at the server, or take the backup yourself and name its directory.",
            )


def _written_bytes(pid: int) -> int:
    """By it and by its child, which receives the log (-X stream)."""
    return sum(_counted(process) for process in (pid, *_children(pid)))


def _counted(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line[6:]) for line in lines if line.startswith("wchar:")), 0)


def _children(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return []
    return [int(word) for word in children]


def _processor_s(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]  # proc(5): fields 14 and 15
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _end(process: subprocess.Popen[bytes]) -> None:
    """With its child; nothing where both have ended."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TERMINATED_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()
