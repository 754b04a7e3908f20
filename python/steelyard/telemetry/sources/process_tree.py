"""Reads processor time and I/O of a server's whole process tree, from outside the server: /proc."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.capabilities.counters import Observable
from steelyard.engines.engine import Instance
from steelyard.model.readings import (
    CHECKPOINT_CPU,
    HELPER_CPU,
    SERVER_CPU,
    SESSION_CPU,
    SESSION_QUEUE,
    Kind,
    Sample,
)
from steelyard.model.units import NS_PER_US
from steelyard.telemetry.source import Moment


class ProcessTree:
    """/proc of every process of the server: schedstat and io."""

    name = "process tree"
    moment: Moment = "border"
    _kinds = (
        Kind(SERVER_CPU, "µs", per_transaction=True),
        Kind("read_bytes", "bytes"),
        Kind("written_bytes", "bytes"),
        Kind("requested_bytes", "bytes", parts=True),
        Kind(SESSION_CPU, "µs"),
        Kind(SESSION_QUEUE, "µs"),
        Kind(HELPER_CPU, "µs"),
        Kind(CHECKPOINT_CPU, "µs"),
    )

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        """Processor time; bytes from and to the block layer; bytes asked for by read calls; of the
        processes that serve connections, time on a processor and time runnable without one; time on
        a processor of those that work for them, and of those that write checkpoints."""
        return self._kinds

    def needs(self, instance: Instance) -> str:
        """A server whose processes can be seen."""
        return "" if isinstance(instance, Observable) else "the server's processes cannot be seen"

    def read(self, instance: Instance) -> Sample:
        """What the tree used so far."""
        assert isinstance(instance, Observable)  # `needs` was read first
        use = instance.use()
        values = {
            SERVER_CPU: use.cpu_ns / NS_PER_US,
            SESSION_CPU: use.session_cpu_ns / NS_PER_US,
            HELPER_CPU: use.cpu_ns_for("helper") / NS_PER_US,
            CHECKPOINT_CPU: use.cpu_ns_for("checkpoint") / NS_PER_US,
        }
        if use.transfers_known:
            values |= {
                "read_bytes": use.read_bytes,
                "written_bytes": use.written_bytes,
                "requested_bytes": use.requested_bytes,
            }
        if use.session_queue_ns:  # 0: this kernel does not count it
            values[SESSION_QUEUE] = use.session_queue_ns / NS_PER_US
        return Sample(values, summed=dict.fromkeys((SESSION_CPU, SESSION_QUEUE), use.session_pids))


SOURCE = ProcessTree()
