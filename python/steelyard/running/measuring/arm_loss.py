"""Error for an arm that could not start or did not survive, with what the epoch's outcome says;
a standby that dies or stops to follow loses its arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, Self

from steelyard.engines.capabilities.life import Replicable
from steelyard.engines.capabilities.memory import Capped
from steelyard.engines.engine import Instance
from steelyard.model.endpoint import error_words
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.units import format_bytes

How = Literal["crashed", "could not start", "out of memory"]


class ArmLostError(ServerError):
    """An arm could not start or survive; the epoch's outcome says `how: arm`."""

    def __init__(
        self, arm: str, how: How, primary: str, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.arm = arm
        self.how = how

    @property
    def outcome(self) -> str:
        """As an epoch's line in the record has it."""
        return f"{self.how}: {self.arm}"

    @classmethod
    def at_start(cls, failures: Mapping[str, EngineError]) -> Self:
        """The servers of these arms refused to start; their own words stay in DETAIL."""
        refusals = [(f'arm "{arm}": {each.primary}', each.detail) for arm, each in failures.items()]
        (primary, detail), *others = refusals
        details = "\n".join(filter(None, (detail, *(part for pair in others for part in pair))))
        hints = [failure.hint for failure in failures.values() if failure.hint]
        return cls(", ".join(failures), "could not start", primary, details or None, *hints[:1])

    @classmethod
    def at_its_cap(cls, instances: Mapping[str, Instance]) -> Self | None:
        """Of the servers, the first in which the kernel killed a process because its memory cap
        left nothing to free; None: it killed none."""
        for arm, instance in instances.items():
            used = instance.memory_use() if isinstance(instance, Capped) else None
            cap = instance.memory_cap if isinstance(instance, Capped) else None
            if used is not None and cap is not None and used.oom_kills:
                size = format_bytes(cap.size_bytes)
                primary = (
                    f'arm "{arm}" was killed by the kernel\'s OOM killer: its cap of {size} '
                    "did not hold what it needed"
                )
                detail = (
                    f"Processes killed: {used.oom_kills}. Now {format_bytes(used.used_bytes)} are "
                    f"in use, {format_bytes(used.cache_bytes)} of them page cache."
                )
                return cls(arm, "out of memory", primary, detail)
        return None

    @classmethod
    def in_slice(cls, arm: str, errors: Mapping[str, int]) -> Self:
        """The arm's server died in mid-slice, or threw its clients out."""
        clauses = [f"{error_words(state)} ({count})" for state, count in sorted(errors.items())]
        primary = f'arm "{arm}" lost its connections in mid-slice'
        return cls(arm, "crashed", primary, f"{', '.join(clauses)}." if clauses else None)


def require_standbys(arm: str, instance: Instance) -> None:
    """ArmLostError: a standby has died; without it, commits would wait until their clients are
    cancelled. Sends nothing."""
    if isinstance(instance, Replicable):
        with _losing(arm):
            instance.require_standbys()


def require_streaming(arms: Mapping[str, Instance]) -> None:
    """ArmLostError for the first arm with a standby that does not follow."""
    for arm, instance in arms.items():
        if isinstance(instance, Replicable):
            with _losing(arm):
                instance.require_streaming()


@contextmanager
def _losing(arm: str) -> Iterator[None]:
    try:
        yield
    except ServerError as failure:
        primary = f'arm "{arm}" is lost: {failure.primary}'
        raise ArmLostError(arm, "crashed", primary, failure.detail, failure.hint) from failure
