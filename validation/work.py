"""Works through the cases that have no result yet, on all processors, with the time left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from validation.cases.case import Case
from validation.results import Results

Say = Callable[[str], None]
SECONDS_BETWEEN_WORDS = 5.0


@dataclass
class Progress:
    """How far it is, printed every few seconds."""

    cost: float
    say: Say
    processors: int
    done: float = 0.0
    began: float = field(default_factory=time.monotonic)
    spoke: float = 0.0

    def finished(self, case: Case, left: int) -> None:
        """Count a case."""
        self.done += case.cost
        now = time.monotonic()
        if left and now - self.spoke < SECONDS_BETWEEN_WORDS:
            return
        self.spoke = now
        elapsed = now - self.began
        to_go = elapsed / self.done * (self.cost - self.done)
        share = self.done / self.cost
        self.say(f"{100 * share:3.0f} %  {_minutes(to_go)} left  {left} cases left  {case.key}")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


def work_through(
    cases: Sequence[Case], results: Results, code: str, say: Say, most_seconds: float | None = None
) -> bool:
    """Append the result of every case that has none from this code; whether all have one now.

    `most_seconds`: no case is begun that would probably end later. Results of other code are
    dropped from the file first.
    """
    results.keep(lambda result: result.get("code") == code)
    done = results.answered_keys()
    waiting = [case for case in cases if case.key not in done]
    if not waiting:
        return True
    processors = len(os.sched_getaffinity(0))
    progress = Progress(sum(case.cost for case in waiting), say, processors)
    left = _spread(waiting, results, code, progress, most_seconds)
    return left == 0


def _spread(
    waiting: Sequence[Case],
    results: Results,
    code: str,
    progress: Progress,
    most_seconds: float | None,
) -> int:
    """Hand out the cases one by one, as processors come free; how many had to wait.

    KeyboardInterrupt: Ctrl-C, after what was under way has ended and is kept.
    """
    queue, under_way = list(reversed(waiting)), dict[Future[Mapping[str, Any]], Case]()
    with (
        _noted_interrupt() as interrupt,
        ProcessPoolExecutor(progress.processors, initializer=_leave_interrupts) as pool,
    ):
        while queue or under_way:
            while queue and len(under_way) < progress.processors and not interrupt:
                if _too_late(queue[-1], progress, most_seconds):
                    break
                case = queue.pop()
                under_way[pool.submit(_timed, case)] = case
            if not under_way:
                break
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                case = under_way.pop(future)
                results.add(case.key, {"code": code, **future.result()})
                progress.finished(case, len(queue) + len(under_way))
    if interrupt:
        raise KeyboardInterrupt
    return len(queue)


@contextmanager
def _noted_interrupt() -> Iterator[list[int]]:
    """SIGINT joins the list, instead of an exception wherever this process is; the second one is
    obeyed at once.

    An exception between the lock of a pool's queue and what is done with it leaves the queue locked
    for good, and the pool waits for a worker that waits for the queue.
    """
    received: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    restored = signal.SIG_DFL if before is None else before

    def note(number: int, frame: object) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, restored)

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, restored)


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent: what is under way ends, and nothing else is begun."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _too_late(case: Case, progress: Progress, most_seconds: float | None) -> bool:
    if most_seconds is None:
        return False
    return time.monotonic() - progress.began + 1.5 * case.cost > most_seconds


def _timed(case: Case) -> Mapping[str, Any]:
    """The result with the processor time it took: a busy machine makes no case longer."""
    began = time.process_time()
    result = case.work()
    return {"seconds": round(time.process_time() - began, 2), **result}
