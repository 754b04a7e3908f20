"""Watches and sessions of servers in memory, which return what `Answers` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.engines.capabilities.checkpoints import WalCounters
from steelyard.engines.capabilities.counters import SampledWait, SessionWaits
from steelyard.engines.differences import SettingRules
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.model.identity import Identity
from steelyard.model.turn import Checkpoint

if TYPE_CHECKING:
    from story.noop.engine import NoopInstance


@dataclass
class NoopExternal:
    """An external server in memory: Instance, Reached and Tunable."""

    identity: Identity
    address: Endpoint
    name: tuple[str, ...]
    """Of the server."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The settings of its sessions."""
    running: bool = True
    setting_rules: SettingRules = field(default_factory=SettingRules)

    def ping(self) -> None:
        """ServerError: it does not run."""
        if not self.running:
            raise ServerError("it takes no connection now")

    def server(self) -> tuple[str, ...]:
        """Its name."""
        return self.name

    def round_trip_ns(self) -> int:
        """Of a fast network."""
        return 20_000

    def settings(self) -> dict[str, str]:
        """Those of its sessions, and nothing else."""
        return dict(self.given)


@dataclass(frozen=True)
class NoopWatch:
    """A watch of waits in memory."""

    seen: Callable[[], SessionWaits]

    def stop(self) -> SessionWaits:
        """What the answers say at its end."""
        return self.seen()


@dataclass(frozen=True)
class NoopProbe:
    """A probe of waits in memory."""

    seen: Callable[[], Sequence[SampledWait]]

    def sample(self) -> Sequence[SampledWait]:
        """What the answers say now."""
        return self.seen()

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class NoopCheckpoints:
    """Checkpoints of a server in memory."""

    instance: NoopInstance

    def checkpoint(self) -> int:
        """Takes what the answers say."""
        return self.instance.checkpoint_ns()

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class NoopCheckpointWatch:
    """A watch of the checkpoints of a server in memory."""

    instance: NoopInstance
    now_ns: Callable[[], int]
    began_ns: int

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Those that the answers give so far."""
        return self.instance.checkpoints_between(self.began_ns, self.now_ns())

    def pulse(self) -> WalCounters | None:
        """What the answers give now; None when the server died."""
        return self.instance.pulse() if self.instance.running else None

    def close(self) -> None:
        """Nothing is open."""
