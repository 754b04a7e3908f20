"""Weighs one cell at a time on a host: an ordinary `steelyard weigh` as a child, and its record.

A lock file of the host is held by keeper and child, so that a weighing whose keeper was killed
still excludes others. What crosses is a study, the end of the child's output, and the record's
files in chunks, each file with its SHA-256.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from steelyard.engines.cache import cache_root
from steelyard.engines.file_lock import hold
from steelyard.fleet.matrix.matrix import Cell

CHUNK_BYTES = 4 << 20
TOLD_CHARACTERS = 2000
STOP_S = 60.0


@dataclass(frozen=True)
class Look:
    """The state of a weighing."""

    status: int | None
    """The child's exit status; None: it runs."""
    told: str
    """The end of its output."""


@dataclass(frozen=True)
class KeptFile:
    """A file of a record."""

    size_bytes: int
    sha256: str


class Keeper:
    """The weighings of one host. `lock`: held while one runs; None: in the host's cache."""

    def __init__(self, lock: Path | None = None) -> None:
        self._lock_path = lock or cache_root() / "weighing.lock"
        self._lock: IO[str] | None = None
        self._folder: Path | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def begin(self, cell: Cell) -> bool:
        """Start a weighing; False: another one runs on this host."""
        if self._child is not None:
            return False
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = hold(self._lock_path)
        except BlockingIOError:
            return False
        self._folder = Path(tempfile.mkdtemp(prefix="steelyard-fleet-"))
        study = cell.study
        if cell.text is not None:
            study = "study.toml"
            (self._folder / study).write_text(cell.text, encoding="utf-8")
        command = [sys.executable, "-m", "steelyard", *cell.arguments(study, self._record)]
        with (self._folder / "told").open("wb") as told:
            self._child = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(self._lock.fileno(),),
            )
        return True

    @property
    def _record(self) -> Path:
        assert self._folder is not None
        return self._folder / "record"

    def look(self) -> Look:
        """The state of the weighing that was begun last."""
        assert self._child is not None
        assert self._folder is not None
        told = (self._folder / "told").read_text(encoding="utf-8", errors="replace")
        return Look(self._child.poll(), told[-TOLD_CHARACTERS:])

    def manifest(self) -> Mapping[str, KeptFile]:
        """The record's files, by their path in it."""
        files = (one for one in sorted(self._record.rglob("*")) if one.is_file())
        return {one.relative_to(self._record).as_posix(): _kept(one) for one in files}

    def chunk(self, name: str, offset: int) -> bytes:
        """A piece of one of them."""
        with (self._record / name).open("rb") as file:
            file.seek(offset)
            return file.read(CHUNK_BYTES)

    def end(self) -> None:
        """End the weighing, which tidies up, and remove what is kept of it here."""
        child, self._child = self._child, None
        if child is not None and child.poll() is None:
            child.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                child.wait(STOP_S)
        if child is not None and child.poll() is None:
            child.kill()
            child.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _kept(file: Path) -> KeptFile:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256")
    return KeptFile(file.stat().st_size, digest.hexdigest())
