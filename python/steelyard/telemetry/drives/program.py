"""Calls a program that reads a drive, within a time; one that is stuck is left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Where these programs are, though an ordinary user's PATH does not name them."""
_AFTER_KILL_S = 0.2


@dataclass(frozen=True)
class Answer:
    """What a program printed, and its exit status."""

    output: str
    errors: str
    status: int


def find_program(name: str) -> str | None:
    """Where a program is; None where it is not installed."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES))
    return shutil.which(name, path=path)


def ask(command: Sequence[str], within_s: float) -> Answer | None:
    """The output of the program, in the C locale; None where it did not end in time.

    It has a session of its own: Ctrl-C does not reach it, and its children end with it. A command
    to a drive that hangs cannot be killed, so its end is not waited for.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Answer("", str(error), 127)
    try:
        output, errors = process.communicate(timeout=max(0.0, within_s))
    except BaseException as interrupted:
        _leave_behind(process)
        if isinstance(interrupted, subprocess.TimeoutExpired):
            return None
        raise
    return Answer(output, errors, process.returncode)


def _leave_behind(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_AFTER_KILL_S)
