"""Runs a command of Steelyard in a process of its own, and ends it in order with this one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""The exit status of a command that was."""


def run(words: Sequence[str]) -> int:
    """The exit status of `steelyard WORDS`, whose standard output is dropped.

    KeyboardInterrupt: it was interrupted.
    """
    command = [sys.executable, "-m", "steelyard", *words]
    # In a group of its own: Ctrl-C reaches it once, from here.
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as started:
        try:
            status = started.wait()
        except BaseException:
            started.send_signal(signal.SIGINT)
            started.wait()
            raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return status
