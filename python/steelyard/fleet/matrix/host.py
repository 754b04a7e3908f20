"""Protocols of the hosts of a fleet, as seen from where the fleet is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.fleet.matrix.keeper import KeptFile, Look
from steelyard.fleet.matrix.matrix import Cell


class Host(Protocol):
    """A host with a keeper. DriverError of any call: it is lost."""

    @property
    def name(self) -> str:
        """Unlike that of every other host."""

    @property
    def machine(self) -> Sequence[str]:
        """By what its machine is known whatever keeper, cluster or name it has: hosts that have one
        of these words in common are one machine."""

    @property
    def kind(self) -> str:
        """Its kind, by its own label."""

    def begin(self, cell: Cell) -> bool:
        """Start a weighing; False: another one runs there."""

    def look(self) -> Look:
        """The state of its weighing."""

    def manifest(self) -> Mapping[str, KeptFile]:
        """The files of its record."""

    def chunk(self, name: str, offset: int) -> bytes:
        """A piece of one."""

    def end(self) -> None:
        """End what runs there, and forget it; of a lost host nothing."""


class Hosts(Protocol):
    """The hosts of a fleet."""

    def hosts(self) -> Sequence[Host]:
        """Those that are there now."""
