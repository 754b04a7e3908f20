"""Reads what the servers of arms report of themselves, as far as their engine can."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from steelyard.engines.capabilities.checkpoints import (
    Checkpointer,
    CheckpointSession,
    PoolFill,
    Warmable,
)
from steelyard.engines.capabilities.counters import (
    Observable,
    Plans,
    SessionWaits,
    Waits,
    WaitWatch,
)
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.engine import Instance
from steelyard.engines.loading import work_database
from steelyard.model.errors import EngineError
from steelyard.model.process import TreeUse
from steelyard.workloads.reading.scripts import Script


def settings_of(instance: Instance) -> dict[str, str]:
    """The settings as the server reports them."""
    return instance.settings() if isinstance(instance, Tunable) else {}


def plans_of(instance: Instance, scripts: Sequence[Script]) -> dict[str, str]:
    """`script: statement` → its plan on this server."""
    if not isinstance(instance, Plans):
        return {}
    texts = {script.name: script.text for script in scripts}
    return dict(instance.plans(work_database(instance), texts))


def checkpointer_of(instance: Instance) -> CheckpointSession:
    """A session for checkpoints; EngineError: the engine has none."""
    if not isinstance(instance, Checkpointer):
        raise EngineError(
            f"engine cannot be made to write what it owes: {instance.identity.kind}",
            hint='Weigh with cost = "foreground".',
        )
    return instance.checkpointer(work_database(instance))


_NOTHING = TreeUse(0, 0, 0, transfers_known=False)


def use_of(instance: Instance) -> TreeUse:
    """What its process tree used so far; nothing where that cannot be seen."""
    return instance.use() if isinstance(instance, Observable) else _NOTHING


def use_while_running(instance: Instance) -> TreeUse:
    """The same; nothing of one that died."""
    return use_of(instance) if instance.running else _NOTHING


def fill_pool(instance: Instance) -> PoolFill:
    """Read the data into the buffer pool; EngineError: the engine cannot."""
    if not isinstance(instance, Warmable):
        raise EngineError(f"engine cannot fill its buffer pool: {instance.identity.kind}")
    return instance.fill_pool(work_database(instance))


class WaitSampling:
    """Samples on several servers what sessions wait for, from its making to `stop`."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self._stack = ExitStack()
        self._seen: list[SessionWaits] = []
        with ExitStack() as started:
            for instance in instances:
                if isinstance(instance, Waits):
                    started.callback(self._end, instance.watch_waits(work_database(instance)))
            self._stack = started.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _end(self, watch: WaitWatch) -> None:
        self._seen.append(watch.stop())

    def stop(self) -> float:
        """End it; share of the active sessions seen that waited for the log to reach the disk."""
        self._stack.close()
        active = sum(waits.active for waits in self._seen)
        return sum(waits.log_flush for waits in self._seen) / active if active else 0.0
