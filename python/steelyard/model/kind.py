"""Kinds of readings: the numbers that a telemetry source gives, with their units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One number that a source gives."""

    name: str
    unit: str
    per_transaction: bool = False
    """Shown as a cause: over the transactions of its span."""
    level: bool = False
    """Not cumulative: the last value counts."""
    parts: bool = False
    """Of a border: also read for each part of the measured slices."""


@dataclass(frozen=True)
class Sample:
    """What a source gave at one moment; a reason in place of values it could not give."""

    values: Mapping[str, float]
    missing: str = ""
