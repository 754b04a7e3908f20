"""Defines a case of the validation: a piece of work with a key, a seed and a result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np


class Case(Protocol):
    """A few seconds of work on one processor; what it finds depends on nothing but its key."""

    @property
    def key(self) -> str:
        """Unique in its suite, the same in every session."""

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly."""

    def work(self) -> Mapping[str, Any]:
        """The result, as JSON can hold it."""


def seed_of(key: str) -> int:
    """The seed of a case: the first 8 bytes of the SHA-256 of its key, big-endian."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def generator(key: str) -> np.random.Generator:
    """numpy's default generator (PCG64) with the seed of a key."""
    return np.random.default_rng(seed_of(key))
