"""Protocols of an external server: one that is neither started nor stopped here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from steelyard.engines.differences import SettingRules
from steelyard.model.errors import EngineError


@runtime_checkable
class Reached(Protocol):
    """An external server: it is connected to, and neither started nor stopped. Queries are methods:
    `isinstance` reads properties, and would send them."""

    def ping(self) -> None:
        """Do nothing in a session of the arm. ServerError: it takes none, in the server's words."""

    def server(self) -> Sequence[str]:
        """Identifies its server: equal for two addresses of one server."""

    def round_trip_ns(self) -> int:
        """Of the shortest statement, the fastest of a few."""

    @property
    def setting_rules(self) -> SettingRules:
        """Which of its settings may differ between two servers without being declared."""


def answers(reached: Reached) -> bool:
    """Whether a session of the arm can be had now."""
    try:
        reached.ping()
    except EngineError:
        return False
    return True


@runtime_checkable
class Noticed(Protocol):
    """A server with notices that must go with every figure of it."""

    @property
    def notices(self) -> Sequence[str]:
        """Sentences without full stop, or quotations."""
