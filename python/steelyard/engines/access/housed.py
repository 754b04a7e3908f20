"""Protocols of servers that are not ours and in which arms are databases of ours."""

from __future__ import annotations

from typing import Protocol

from steelyard.engines.engine import Instance


class OwnDatabase(Protocol):
    """A database for the weighing. `check` and `drop` verify it first; EngineError: it is no longer
    the database that was made, and was left as it is."""

    @property
    def name(self) -> str: ...

    def make(self) -> None:
        """Make it, empty and with a marker; EngineError: the server makes none, or was lost, and
        then `drop` finds out whether it is there."""

    def check(self) -> None:
        """Read all of it. ServerError: the check never began; EngineError: it is damaged, or may
        be."""

    def drop(self) -> None:
        """Drop it; nothing where it was never made."""


class Housed(Instance, Protocol):
    """An arm that works in the database of ours that it is given."""

    def draw_database(self) -> OwnDatabase:
        """A database with a name of its own, which is not made yet; nothing is sent."""

    def work_in(self, database: OwnDatabase) -> None:
        """Its sessions go there from now on."""

    def settle(self) -> None:
        """Set the database as the arm says, and rewrite its pages so that they carry it.
        EngineError: the database is no longer ours; ServerError: the server refused."""
