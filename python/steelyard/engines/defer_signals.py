"""Delays the signals that ask a program to end until cleanup has finished; and waits for a call
that no signal interrupts, so that Ctrl-C is obeyed meanwhile.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TypeVar

from steelyard.model.errors import EngineError, SteelyardError

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end a program when it has cleaned up: a closed terminal sends SIGHUP, Ctrl-\\
SIGQUIT. SIGKILL leaves no time."""
_DEFERRED = (signal.SIGINT, *ENDING)
Result = TypeVar("Result")
_LOOK_S = 0.1


@contextmanager
def defer_signals(*, at_the_end: bool = False) -> Iterator[None]:
    """Hold back SIGINT and what ENDING has in the `with` block, and raise the first of them after
    it. One that is ignored, as SIGHUP is under nohup, stays ignored.

    Cleanup in the middle of a weighing must not swallow the Ctrl-C that was to end it. Where the
    program is ending already, because of a signal or `at_the_end` of its work, none is raised.

    Only for what takes seconds at most. Outside the main thread, which no signal reaches, nothing
    is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = at_the_end or isinstance(sys.exc_info()[1], KeyboardInterrupt | SystemExit)
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in _DEFERRED
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if received and not ending:
        signal.raise_signal(received[0])


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at the end of the `with` block whatever happens; an EngineError of it does not
    replace what ended the block, as Ctrl-C.

    A generator that is closed, as when one more Ctrl-C comes on the way out of its `with` block,
    holds signals back meanwhile: their exception would end the cleanup, and be lost.
    """
    try:
        yield
    except BaseException as ending:
        closed = isinstance(ending, GeneratorExit)
        with suppress(EngineError), defer_signals(at_the_end=True) if closed else nullcontext():
            stop()
        raise
    stop()


def interruptible(call: Callable[[], Result]) -> Result:
    """What the call returns, or the SteelyardError that it raises; a signal handler's exception is
    raised at once.

    Such a call is one of the extension that waits for a server. It goes on in its thread until its
    own time is over, and what it returns then is closed with it.
    """
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
