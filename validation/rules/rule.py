"""Defines a rule of another tool: how it measures and when it says that two arms differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from validation.machines.machine import Machine


class Says(StrEnum):
    """What a rule says of B against A."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Rule:
    """A rule, where it comes from, and what is left out of it here."""

    name: str
    source: str
    simplified: str
    judge: Callable[[Machine, np.random.Generator], Says]


def direction(difference: float) -> Says:
    """Slower or faster, by the throughput of B minus that of A."""
    return Says.FASTER if difference > 0 else Says.SLOWER
