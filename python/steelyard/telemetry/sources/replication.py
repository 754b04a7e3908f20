"""Reads how far the standbys of a server are behind it, at the end of the measured slices."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.capabilities.life import Replicable
from steelyard.engines.engine import Instance
from steelyard.model.readings import REPLAY_LAG_BYTES, REPLAY_LAG_MS, Kind, Sample
from steelyard.model.units import NS_PER_MS
from steelyard.telemetry.source import Moment


class ReplicationLag:
    """The log that a standby had not replayed, and the age of what it replayed last."""

    name = "replication"
    moment: Moment = "border"
    _kinds = (
        Kind(REPLAY_LAG_BYTES, "bytes", level=True),
        Kind(REPLAY_LAG_MS, "ms", level=True),
    )

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        """Of the standby that is furthest behind: log that it has not replayed, and how long ago
        the last transaction ended that it has; 0 where nothing is left."""
        replicated = isinstance(instance, Replicable) and instance.standby_names()
        return self._kinds if replicated else ()

    def needs(self, instance: Instance) -> str:
        """A server with standbys."""
        return "" if self.kinds(instance) else "it has no standby"

    def read(self, instance: Instance) -> Sample:
        """The lag as the arm was held still last, else as it is now."""
        assert isinstance(instance, Replicable)  # `needs` was read first
        lag = instance.lag()
        return Sample({REPLAY_LAG_BYTES: lag.log_bytes, REPLAY_LAG_MS: lag.age_ns / NS_PER_MS})


SOURCE = ReplicationLag()
