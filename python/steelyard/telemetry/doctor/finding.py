"""Holds what a check of the host found, and reads the small files that checks use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.engines.memory.control_groups import ROOT, matching
from steelyard.record.machine import DriveHealth

Level = Literal["good", "note", "warning", "unseen"]
"""As it should be; worth knowing; it disturbs what it matters for; it could not be seen."""


@dataclass(frozen=True)
class HostFinding:
    """What was seen of one thing, what it matters for and how much, and what to do."""

    name: str
    level: Level
    seen: str
    matters_for: str
    advice: str
    source: str
    """Where the threshold comes from."""

    def to_json(self) -> dict[str, str]:
        """As `doctor --json` and records have it."""
        return asdict(self)


@dataclass(frozen=True)
class Lately:
    """What was measured of the host for some seconds in which we did nothing; None: it was not."""

    steal_share: float | None = None
    """Of the time of all processors, taken by other guests."""
    throttled_share: float | None = None
    """Of the time, in which this control group was stopped by its quota."""
    busy_processors: float | None = None
    """Processors' worth of time that others used."""
    heat_events: int | None = None
    """Times that a core was slowed down by its heat."""
    clock_ns: float | None = None
    """What one reading of the clock takes."""
    sync_us: float | None = None
    """Median time until 8 kB that were overwritten in a file were safe on the device."""
    io_uring: str | None = None
    """What the kernel refused a ring of io_uring with ("EPERM"); empty: it gave one."""
    locked_bytes: int | None = None
    """What a process may lock of its memory (RLIMIT_MEMLOCK)."""
    why_not: str = "it was not measured"
    """Why there is no share and no processor in use."""


@dataclass(frozen=True)
class PlannedServers:
    """Servers that are to be weighed here side by side."""

    shared_buffers_bytes: int
    count: int


@dataclass(frozen=True)
class HostFacts:
    """What checks read: files below a root, a directory for data, and what was measured."""

    directory: Path
    """Where data directories stand."""
    root: Path = ROOT
    lately: Lately = Lately()
    drives: tuple[DriveHealth, ...] = ()
    """What the drives beneath the directory say of themselves; empty: they were not read."""
    io_uring: Mapping[str, bool] = field(default_factory=dict)
    """Build → whether it was made with io_uring; empty: none was asked."""
    planned: PlannedServers | None = None
    """What huge pages are to be computed for."""

    def text(self, path: str) -> str | None:
        """A small file below the root, stripped; None where it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """A file that holds one whole number; None where it does not."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def numbers(self, pattern: str) -> dict[str, int | None]:
        """The files that match a pattern, by their path below the root; None: it holds no whole
        number, or cannot be read."""
        names = (str(path.relative_to(self.root)) for path in matching(self.root, pattern))
        return {name: self.number(name) for name in names}

    def every(self, pattern: str) -> dict[str, str]:
        """The files that match a pattern, by their path below the root."""
        texts: dict[str, str] = {}
        for path in matching(self.root, pattern):
            name = str(path.relative_to(self.root))
            text = self.text(name)
            if text is not None:
                texts[name] = text
        return texts


Check = Callable[[HostFacts], HostFinding]


def bracketed_word(text: str | None) -> str | None:
    """The word in brackets: "madvise" of "always [madvise] never"."""
    if text is None or "[" not in text:
        return None
    return text.partition("[")[2].partition("]")[0]
