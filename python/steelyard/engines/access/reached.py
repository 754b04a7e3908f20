"""Names what is known of a server that somebody else runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from steelyard.engines.differences import SettingRules


@runtime_checkable
class Reached(Protocol):
    """Is run by somebody else: it is connected to, and neither started nor stopped. What asks the
    server are methods: `isinstance` looks at properties, and would ask."""

    def server(self) -> Sequence[str]:
        """What tells its server from others: alike for two addresses of one server."""

    def round_trip_ns(self) -> int:
        """Of the shortest statement, the fastest of a few."""

    @property
    def setting_rules(self) -> SettingRules:
        """Which of its settings may differ between two servers without being declared."""


@runtime_checkable
class Noticed(Protocol):
    """Something has to be said wherever a figure of it is shown."""

    @property
    def notices(self) -> Sequence[str]:
        """Sentences without full stop, or quotations."""
