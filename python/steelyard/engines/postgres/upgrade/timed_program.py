"""Runs a program of PostgreSQL and notes when it wrote each line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.programs import piped

_MOST_BYTES = 4 << 20
"""Of output that is kept; a program that writes more is in trouble, and its end matters less."""


@dataclass(frozen=True)
class TimedRun:
    """The end of a program."""

    status: int
    seconds: float
    lines: tuple[tuple[float, str], ...]  # seconds since the start at which each line was complete

    @property
    def output(self) -> str:
        """All lines."""
        return "".join(f"{line}\n" for _, line in self.lines)


def run_timed(
    account: Account,
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    begun: Callable[[str], None] = lambda _: None,
) -> TimedRun:
    """Run it in `directory` until it ends; `begun` gets each line as it begins. Whatever ends us
    meanwhile ends it with its children. EngineError: it cannot be executed."""
    process = piped(account, command, directory=directory, environment=environment)
    started = time.monotonic()
    try:
        lines = _read(process, started, begun)
        status = process.wait()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return TimedRun(status, time.monotonic() - started, tuple(lines))


def _read(
    process: subprocess.Popen[bytes], started: float, begun: Callable[[str], None]
) -> list[tuple[float, str]]:
    assert process.stdout is not None  # it is a pipe
    lines: list[tuple[float, str]] = []
    rest, size, last_step = b"", 0, ""
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        now = time.monotonic() - started
        size += len(chunk)
        if size > _MOST_BYTES:
            continue
        *whole, rest = (rest + chunk).split(b"\n")
        lines += [(now, line.decode(errors="replace").replace("\r", "")) for line in whole]
        step = rest.decode(errors="replace").strip()
        if step and step != last_step:
            begun(step)
        last_step = step
    if rest:
        lines.append((time.monotonic() - started, rest.decode(errors="replace")))
    return lines
