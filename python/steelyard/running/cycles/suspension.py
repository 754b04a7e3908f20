"""Keeps every arm suspended but the one that is under load, and counts its own time.

An arm's own time is the sum of its slices. A moment of the wall clock between two of them, as that
at which a checkpoint's line appeared in the log, has the own time at which the earlier one ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from steelyard.engines.capabilities.checkpoints import Suspendable
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError, ServerError


@dataclass
class OwnTime:
    """The slices of an arm so far, by their begin on the wall clock and in own time, in ns."""

    starts_ns: list[int] = field(default_factory=list)
    own_starts_ns: list[int] = field(default_factory=list)
    now_ns: int = 0
    """Own time at the end of the last slice."""

    def add(self, start_ns: int, end_ns: int) -> int:
        """A slice that has ended; the own time at which it began."""
        began_ns = self.now_ns
        self.starts_ns.append(start_ns)
        self.own_starts_ns.append(began_ns)
        self.now_ns = began_ns + end_ns - start_ns
        return began_ns

    def at(self, wall_ns: int) -> int:
        """The own time of a moment of the wall clock, until the end of the last slice."""
        index = bisect_right(self.starts_ns, wall_ns) - 1
        if index < 0:
            return 0
        after = self.own_starts_ns[index + 1 :][:1] or [self.now_ns]
        return min(self.own_starts_ns[index] + wall_ns - self.starts_ns[index], after[0])


class ArmSuspension:
    """The arms of an epoch, of which one at a time is awake."""

    def __init__(self, arms: Mapping[str, Instance]) -> None:
        self._arms = {arm: suspendable(instance) for arm, instance in arms.items()}
        self._instances = dict(arms)
        self.used_ns = dict.fromkeys(arms, 0)
        """Arm → processor time that its processes used while they were to stand still."""

    @contextmanager
    def suspend_all(self) -> Iterator[None]:
        """Every arm is suspended inside of the block, unless it is `awake`."""
        try:
            for arm in self._arms:
                self._suspend(arm)
            yield
        finally:
            with ExitStack() as every:  # each of them, whatever happens to another
                for arm in self._arms:
                    every.callback(self._resume, arm)

    @contextmanager
    def awake(self, arm: str) -> Iterator[None]:
        """One arm runs inside of the block. Where the block raises it is left running."""
        self._resume(arm)
        yield
        self._suspend(arm)

    def _suspend(self, arm: str) -> None:
        if not self._instances[arm].running:
            return
        try:
            self._arms[arm].suspend()
        except ServerError as failure:
            raise ServerError(
                f'could not hold arm "{arm}" still: {failure.primary}', detail=failure.detail
            ) from failure

    def _resume(self, arm: str) -> None:
        self.used_ns[arm] += self._arms[arm].resume()


def suspendable(instance: Instance) -> Suspendable:
    """The server of an arm; EngineError: it cannot be held still."""
    if not isinstance(instance, Suspendable):
        raise EngineError(
            f"engine cannot be held still: {instance.identity.kind}",
            hint="Weigh with --set layout=turns, or --set layout=slices.",
        )
    return instance
