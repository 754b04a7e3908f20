"""A load machine that is this process: its sessions are real, its death is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from steelyard.engines.loading import RowShare
from steelyard.fleet.load_generators.load_agent import machine_facts
from steelyard.fleet.row_copying import CopySessions
from steelyard.model.endpoint import Endpoint


@dataclass
class NearCopier:
    """Implements Copier; `before_copy` sees each share before it is copied."""

    number: int
    before_copy: Callable[[RowShare], None] = lambda _: None
    sessions: CopySessions = field(default_factory=CopySessions)
    facts = machine_facts()

    @property
    def name(self) -> str:
        return f"machine {self.number}"

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        return self.sessions.connect_to(target, sessions)

    def copy(self, share: RowShare, session: int) -> int:
        self.before_copy(share)
        return self.sessions.copy(share, session)

    def disconnect(self) -> None:
        self.sessions.disconnect()
