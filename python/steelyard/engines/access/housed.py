"""Protocols of servers that are not ours and in which arms are databases of ours."""

from __future__ import annotations

from typing import Protocol

from steelyard.engines.engine import Instance


class OwnDatabase(Protocol):
    """A database that was made for the weighing. Each of these methods verifies it first;
    EngineError: it is no longer the database that was made, and was left as it is."""

    @property
    def name(self) -> str: ...

    def check(self) -> None:
        """Read all of it; EngineError: it is damaged."""

    def drop(self) -> None:
        """Drop it."""


class Housed(Instance, Protocol):
    """An arm that works in the database of ours that it is given."""

    def make_database(self) -> OwnDatabase:
        """A new, empty database with a marker; EngineError: the server makes none."""

    def work_in(self, database: OwnDatabase) -> None:
        """Its sessions go there from now on."""

    def settle(self) -> None:
        """Set the database as the arm says, and rewrite its pages so that they carry it.
        EngineError: the database is no longer ours; ServerError: the server refused."""
