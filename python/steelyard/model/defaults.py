"""Holds what a build assumes: defaults of its settings, and the layout of its data directories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Default:
    """The value that a build gives to a setting which is not set."""

    value: str | None
    unit: str  # "kB", "8kB", "ms", ... or ""
    context: str  # "internal": cannot be set; "postmaster", "sighup", "user", ...


@dataclass(frozen=True)
class BuildDefaults:
    """Decides whether two builds can share data directories, and which defaults must be aligned."""

    layout: Mapping[str, int]
    """Of data directories, by the part: builds whose layouts are equal can open each other's."""
    settings: Mapping[str, Default]
    """By the setting's name."""
