"""What is read of a server's processes is a figure where the kernel shows it, and else missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from steelyard.engines.engine import Instance
from steelyard.model.process import Process, TreeUse
from steelyard.model.readings import SESSION_CPU, SESSION_QUEUE
from steelyard.running.turns.seconds import SecondSeries, read_border
from steelyard.telemetry.source import EpochTelemetry
from steelyard.telemetry.sources.process_tree import SOURCE

TRANSFERS = ("read_bytes", "written_bytes", "requested_bytes")


@dataclass
class Server:
    """One that uses a second of a processor, and transfers 1,000 bytes, between two readings."""

    shown: bool = True
    seconds: int = 0
    running: bool = True

    def use(self) -> TreeUse:
        self.seconds += 1
        ns, size = self.seconds * 10**9, self.seconds * 1000 if self.shown else 0
        session = Process(7, "client backend", ns, ns, duty="session")
        use = TreeUse(ns, size, size, size, processes=(session,), session_pids=frozenset({7}))
        return replace(use, transfers_known=self.shown)


class Watch:
    """A watch of a server's log."""

    def pulse(self) -> None:
        return None

    def waiting_bytes(self) -> int:
        return 0


@pytest.mark.parametrize("shown", [True, False])
def test_transfers_that_the_kernel_does_not_show_are_missing_and_no_zeros(shown: bool) -> None:
    telemetry = EpochTelemetry([SOURCE], {"on": cast(Instance, Server(shown))})
    for _ in range(2):
        telemetry.border()
    read = {reading.name: reading for reading in telemetry.readings("on")}
    assert {read[name].value for name in TRANSFERS} == {1000 if shown else None}
    assert [bool(read[name].missing) for name in TRANSFERS] == [not shown] * 3
    assert (read[SESSION_CPU].value, read[SESSION_QUEUE].value) == (10**6, 10**6)
    assert telemetry.parts("on") == [{"requested_bytes": 1000} if shown else {}]


@pytest.mark.parametrize("shown", [True, False])
def test_of_a_second_they_are_not_known_either(shown: bool) -> None:
    server, watch = cast(Any, Server(shown)), cast(Any, Watch())
    series = SecondSeries()
    series.add_border(*(read_border(server, watch, watch) for _ in range(2)))
    known = (1000.0,) if shown else (None,)
    assert (series.columns().read_bytes, series.columns().dirtied_bytes) == (known, known)
