"""A clock of a scripted world: slices, checkpoints and pauses move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from story.scripted import ScriptedWorld


@dataclass(frozen=True)
class ScriptedClock:
    """A clock that is moved by slices and checkpoints."""

    world: ScriptedWorld

    def now_ns(self) -> int:
        return self.world.clock.now

    def pause(self, duration_ns: int) -> None:
        self.world.paused_ns += duration_ns
        self.world.clock.now += duration_ns

    def suspended_ns(self) -> int:
        return self.world.slept_ns
