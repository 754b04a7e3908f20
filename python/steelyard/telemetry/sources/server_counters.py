"""Reads what a server counted of its work, once every load connection has closed."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.capabilities.counters import Countable
from steelyard.engines.engine import Instance
from steelyard.engines.loading import work_database
from steelyard.model.readings import Kind, Sample
from steelyard.telemetry.source import Moment


class ServerCounters:
    """The cumulative statistics of the server, in its engine's own kinds."""

    name = "server counters"
    moment: Moment = "closed"

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        """What this engine counts."""
        return instance.counter_kinds if isinstance(instance, Countable) else ()

    def needs(self, instance: Instance) -> str:
        """A server that counts its work."""
        return "" if isinstance(instance, Countable) else "the server counts nothing"

    def read(self, instance: Instance) -> Sample:
        """The counters by name."""
        assert isinstance(instance, Countable)  # `needs` was read first
        return instance.counters(work_database(instance))


SOURCE = ServerCounters()
