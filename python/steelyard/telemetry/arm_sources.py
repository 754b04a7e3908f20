"""The sources that are read of every arm: its process tree, and what its server counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.engines.engine import Countable, Instance, Observable
from steelyard.model.readings import Kind, Sample
from steelyard.telemetry.source import Moment, Source

NS_PER_US = 1000


@dataclass(frozen=True)
class ProcessTree:
    """Processor time and I/O of a server's whole process tree, from outside the server."""

    name: str = "process tree"
    moment: Moment = "border"
    kinds: Sequence[Kind] = (
        Kind("server_cpu_us", "µs", per_transaction=True),
        Kind("read_bytes", "bytes"),
        Kind("written_bytes", "bytes"),
        Kind("requested_bytes", "bytes", parts=True),
    )

    def needs(self, instance: Instance) -> str:
        """A server whose processes can be seen."""
        return "" if isinstance(instance, Observable) else "the server's processes cannot be seen"

    def read(self, instance: Instance) -> Sample:
        """From /proc: schedstat and io of every process."""
        assert isinstance(instance, Observable)  # `needs` was read first
        use = instance.use()
        return Sample(
            {
                "server_cpu_us": use.cpu_ns / NS_PER_US,
                "read_bytes": use.read_bytes,
                "written_bytes": use.written_bytes,
                "requested_bytes": use.requested_bytes,
            }
        )


@dataclass(frozen=True)
class ServerCounters:
    """What a server counted, once every load connection has closed and flushed its statistics."""

    kinds: Sequence[Kind]
    database: str
    name: str = "server counters"
    moment: Moment = "closed"

    def needs(self, instance: Instance) -> str:
        """A server that reports counters."""
        return "" if isinstance(instance, Countable) else "the server reports no counters"

    def read(self, instance: Instance) -> Sample:
        """The counters by name."""
        assert isinstance(instance, Countable)  # `needs` was read first
        return instance.counters(self.database)


def arm_sources(arms: Mapping[str, Instance], database: str) -> Sequence[Source]:
    """The sources of arms of one kind of database, whose counters are read from `database`."""
    counting = [instance for instance in arms.values() if isinstance(instance, Countable)]
    kinds = counting[0].counter_kinds if counting else ()
    return (ProcessTree(), ServerCounters(kinds, database))
