"""The driver's own process: `python -I -m steelyard.driver.process`, JSON lines in and out.

Nothing of Python runs while the load runs: the extension holds the process, without the
interpreter lock, until it is told to end. Whoever started it decides about interrupts.
"""

from __future__ import annotations

import signal
import sys

from steelyard import _core


def main() -> int:
    """Drive until told to end; 1 after an error, which is the last line of the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return 0 if _core.drive(sys.stdin.fileno(), sys.stdout.fileno()) else 1


if __name__ == "__main__":
    sys.exit(main())
