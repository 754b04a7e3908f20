"""Runs the load driver as a process: `python -I -m steelyard.driver.process`, JSON in and out.

Nothing of Python runs while the load runs: the extension holds the process, without the
interpreter lock, until it gets the command to end. The process that started it handles interrupts,
and the load ends when that process ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

from steelyard import _core


def main() -> int:
    """Drive until the command to end; 1 after an error, which is the last line of the answers."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):  # sent to all of a terminal
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_reader, daemon=True).start()
    return 0 if _core.drive(sys.stdin.fileno(), sys.stdout.fileno()) else 1


def _end_with_the_reader() -> None:
    """Sleep until the answers are read no more, and end: a slice may last long.

    What the servers still do for it is cancelled first.
    """
    answers = select.poll()
    answers.register(sys.stdout.fileno(), 0)  # a closed pipe is always reported
    if any(happened & select.POLLERR for _, happened in answers.poll()):
        _core.cancel_everything()
        os._exit(1)


if __name__ == "__main__":
    # At once: an interpreter that tidies up would end the other thread in the middle of the
    # extension, which aborts. Nothing is buffered here.
    os._exit(main())
