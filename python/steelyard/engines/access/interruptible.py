"""Waits for a call that no signal interrupts, so that Ctrl-C is obeyed meanwhile.

Such a call is one of the extension that waits for a server. It goes on in its thread until its own
time is over, and what it returns then is closed with it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from steelyard.model.errors import SteelyardError

Result = TypeVar("Result")
_LOOK_S = 0.1


def interruptible(call: Callable[[], Result]) -> Result:
    """What the call returns, or the SteelyardError that it raises; a signal handler's exception is
    raised at once."""
    returned: queue.SimpleQueue[Result] = queue.SimpleQueue()
    failures: list[SteelyardError] = []

    def work() -> None:
        try:
            returned.put(call())
        except SteelyardError as failure:
            failures.append(failure)

    thread = threading.Thread(target=work, name="interruptible", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_S)
    if failures:
        raise failures[0]
    return returned.get_nowait()
