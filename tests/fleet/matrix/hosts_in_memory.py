"""Hosts of a fleet in memory: each weighing ends at its second look, as its script says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.fleet.matrix.host_agent import JobStatus, RecordFile
from steelyard.fleet.matrix.matrix import MatrixCell
from steelyard.model.errors import DriverError

PIECE = 7
MODIFIED_NS = 1_700_000_000_000_000_000
"""When every file was written on its host."""


@dataclass
class MemoryHost:
    """Implements Host. `ends`: exit status by the name of the cell; DriverError: it is lost."""

    name: str
    kind: str = "any"
    machine: tuple[str, ...] = ()
    """Empty: one of its own."""
    ends: dict[str, int | DriverError] = field(default_factory=dict)
    busy: int = 0
    """How often another weighing is in the way."""
    altered: bool = False
    files_of: Callable[[MatrixCell], dict[str, bytes]] = lambda cell: {
        "verdict.json": f"verdict of {cell.name}".encode(),
        "deep/slices.jsonl": b"x" * 100,
    }
    running: MatrixCell | None = None
    looks: int = 0
    weighed: list[str] = field(default_factory=list)
    ended: int = 0

    def __post_init__(self) -> None:
        self.machine = self.machine or (f"boot of {self.name}",)

    def begin(self, cell: MatrixCell) -> bool:
        assert self.running is None
        if self.busy:
            self.busy -= 1
            return False
        self.running, self.looks = cell, 0
        self.weighed.append(cell.name)
        return True

    def job_status(self) -> JobStatus:
        assert self.running is not None
        self.looks += 1
        if self.looks < 2:
            return JobStatus(None, "")
        end = self.ends.pop(self.running.name, 0)
        if isinstance(end, DriverError):
            raise end
        return JobStatus(end, "one\ntwo\nerror: three\nDETAIL:  four\n")

    def manifest(self) -> Mapping[str, RecordFile]:
        assert self.running is not None
        files = self.files_of(self.running)
        return {
            n: RecordFile(len(b), hashlib.sha256(b).hexdigest(), MODIFIED_NS)
            for n, b in files.items()
        }

    def chunk(self, name: str, offset: int) -> bytes:
        assert self.running is not None
        piece = self.files_of(self.running)[name][offset : offset + PIECE]
        return piece.upper() if self.altered else piece

    def end(self) -> None:
        self.running = None
        self.ended += 1


@dataclass
class MemoryHosts:
    """Implements Hosts."""

    all: list[MemoryHost]

    def hosts(self) -> Sequence[MemoryHost]:
        return self.all
