"""Lets cleaning up come to its end: whoever presses Ctrl-C again is not left with half of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ASKING = (signal.SIGINT, signal.SIGTERM)
"""Signals by which a person or a system asks a program to end; SIGKILL does not ask."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Nobody who asks this program to end is heard meanwhile: it is ending already.

    Only for what takes seconds at most. Outside the main thread, which no signal reaches, nothing
    is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ASKING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
