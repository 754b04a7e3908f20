"""Weighs one cell at a time on a host: an ordinary `steelyard weigh`, and its record.

A lock file of the host is held by the agent, the watcher of its weighing, and the weighing: so
that others are kept off until the last of them is gone. What crosses is a study with the files that
it names, the end of the weighing's output, and the record's files in chunks, each with its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from steelyard.engines.cache import open_cache
from steelyard.engines.file_lock import hold, is_locked
from steelyard.fleet.matrix.matrix import MatrixCell
from steelyard.fleet.matrix.watcher import KILLED_S, OUTPUT, STOP_S

CHUNK_BYTES = 4 << 20
OUTPUT_END_CHARACTERS = 2000
START_S = 60.0
"""Longest until the watcher of a weighing has been started."""
GONE_S = STOP_S + KILLED_S + 30.0
"""Longest until it has ended the weighing, removed its servers and is gone itself."""


@dataclass(frozen=True)
class JobStatus:
    """The state of a weighing."""

    status: int | None
    """The child's exit status; None: it runs."""
    output_end: str
    """The end of its output."""


@dataclass(frozen=True)
class RecordFile:
    """A file of a record."""

    size_bytes: int
    sha256: str
    modified_ns: int
    """Since 1970."""


class _Weighing:
    """A weighing under way, and the pipes to its watcher, which ends with either of them."""

    def __init__(self, folder: Path, arguments: list[str], lock: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "steelyard.fleet.matrix.watcher", str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )
        self._status: int | None = None
        self._process.wait(START_S)  # it has left a process that is not our child

    def status(self) -> int | None:
        """The weighing's exit status, that of a killed one where its watcher was; None: it runs."""
        assert self._process.stdout is not None
        if self._status is None and select.select([self._process.stdout], [], [], 0)[0]:
            reply = os.read(self._process.stdout.fileno(), 64)
            self._status = int(reply) if reply else -signal.SIGKILL
        return self._status

    def end(self) -> None:
        """Have it ended, and wait until its watcher is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        limit = time.monotonic() + GONE_S
        while select.select([self._process.stdout], [], [], max(0, limit - time.monotonic()))[0]:
            if not os.read(self._process.stdout.fileno(), 64):
                break
        self._process.stdout.close()


class HostAgent:
    """The weighings of one host. `lock`: held while one runs; None: in the host's cache."""

    def __init__(self, lock: Path | None = None) -> None:
        self._lock_path = lock or open_cache().root / "weighing.lock"
        self._folder = self._lock_path.parent / "fleet"
        """Of the weighing; whoever has the lock may remove what another one left there."""
        self._lock: IO[bytes] | None = None
        self._weighing: _Weighing | None = None

    def begin(self, cell: MatrixCell) -> bool:
        """Start a weighing; False: another one runs on this host."""
        if self._weighing is not None:
            return False
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = hold(self._lock_path)
        except BlockingIOError:
            return False
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
            for name, text in cell.files:
                file = self._folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            arguments = cell.arguments(self._record)
            self._weighing = _Weighing(self._folder, arguments, self._lock)
        except BaseException:
            self.end()
            raise
        return True

    @property
    def _record(self) -> Path:
        return self._folder / "record"

    def job_status(self) -> JobStatus:
        """The state of the weighing that was begun last."""
        assert self._weighing is not None
        output = self._folder / OUTPUT
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        return JobStatus(self._weighing.status(), text[-OUTPUT_END_CHARACTERS:])

    def manifest(self) -> Mapping[str, RecordFile]:
        """The record's files, by their path in it."""
        files = (file for file in sorted(self._record.rglob("*")) if file.is_file())
        return {file.relative_to(self._record).as_posix(): _record_file(file) for file in files}

    def chunk(self, name: str, offset: int) -> bytes:
        """A piece of one of them."""
        with (self._record / name).open("rb") as file:
            file.seek(offset)
            return file.read(CHUNK_BYTES)

    def end(self) -> None:
        """End the weighing, which tidies up; nothing is kept of it here."""
        weighing, self._weighing = self._weighing, None
        if weighing is not None:
            weighing.end()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        limit = time.monotonic() + KILLED_S
        while weighing is not None and is_locked(self._lock_path) and time.monotonic() < limit:
            time.sleep(0.01)  # its watcher has closed its output, and is about to end


def _record_file(file: Path) -> RecordFile:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256")
    status = file.stat()
    return RecordFile(status.st_size, digest.hexdigest(), status.st_mtime_ns)
