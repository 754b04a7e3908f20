"""Lets cleaning up come to its end: who presses Ctrl-C meanwhile is heard, but afterwards."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ASKING = (signal.SIGINT, signal.SIGTERM)
"""Signals by which a person or a system asks a program to end; SIGKILL does not ask."""


@contextmanager
def undisturbed(*, at_the_end: bool = False) -> Iterator[None]:
    """Nobody who asks this program to end interrupts what is done meanwhile.

    Whoever asked is heard when it is done: what is cleaned up in the middle of a weighing must not
    swallow the Ctrl-C that was to end it. Only where the program is ending already, because it was
    asked to or `at_the_end` of its work, is there nothing left to hear.

    Only for what takes seconds at most. Outside the main thread, which no signal reaches, nothing
    is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = at_the_end or isinstance(sys.exc_info()[1], KeyboardInterrupt | SystemExit)
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: asked.append(number))
        for number in _ASKING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if asked and not ending:
        signal.raise_signal(asked[0])
