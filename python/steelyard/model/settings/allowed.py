"""Holds what a server accepts for one of its settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """Values that a build accepts, and the one that it assumes."""

    kind: str  # "bool", "enum", "integer", "real" or "string"
    default: str | None  # in `unit`
    unit: str  # of default, low and high: "kB", "8kB", "MB", "ms", "s", "min", ... or ""
    low: float | None  # None: it has no bounds
    high: float | None
    values: tuple[str, ...]  # of an enum
    context: str  # "internal", "postmaster", "sighup", "superuser", "user", ...

    @property
    def needs_restart(self) -> bool:
        """Whether it is read only when the server starts."""
        return self.context == "postmaster"
