"""Runs a package tool in a directory of its own and kills it with its children if it must end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import EngineError

TIMEOUT_S = 600


@dataclass(frozen=True)
class ToolOutcome:
    """How a tool ended, and what it wrote."""

    status: int
    output: bytes
    errors: str


def run_tool(
    command: Sequence[str], directory: Path, what: str, environment: Mapping[str, str] | None = None
) -> ToolOutcome:
    """The answer of a tool that runs in `directory`, with our environment and `environment`.

    EngineError: `what` could not be fetched within TIMEOUT_S.
    """
    tool = os.path.basename(command[0])
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C meant for us ends it in `finally`, its children too
    )
    try:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"could not fetch {what}: {tool} took more than {TIMEOUT_S} s") from None
    finally:
        with defer_signals():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return ToolOutcome(process.returncode, output, errors.decode(errors="replace"))
