"""How far standbys lag is read where a server has any, at the end of the measured slices."""

from __future__ import annotations

from pathlib import Path

from steelyard.engines.capabilities.life import Lag, Replicable, Standbys
from steelyard.engines.engine import Slot
from steelyard.model.endpoint import Endpoint
from steelyard.record.verdict import StandbyLag
from steelyard.report.tables import lag_line
from steelyard.telemetry.source import reading
from steelyard.telemetry.sources.replication import SOURCE
from story.noop.engine import NoopEngine


class Replicated:
    """A server with standbys that lag as it is told."""

    running = True
    identity = NoopEngine().identity
    address = Endpoint("/none", 1, "postgres", "postgres")

    def __init__(self, lag: Lag, names: tuple[str, ...] = ("standby1",)) -> None:
        self._lag, self._names = lag, names

    def replicate(self, standbys: Standbys | None) -> None: ...

    def standby_names(self) -> tuple[str, ...]:
        return self._names

    def require_standbys(self) -> None: ...

    def require_streaming(self) -> None: ...

    def load_address(self) -> Endpoint:
        return self.address

    def lag(self) -> Lag:
        return self._lag


def test_a_server_without_standbys_has_no_lag() -> None:
    instance = NoopEngine().create(Path("a"), protection="checksums")
    instance.start(Slot(0, Path("/run/slot0"), Path("/tmp/sockets"), 54320), {})
    assert SOURCE.kinds(instance) == ()
    assert SOURCE.needs(instance) == "it has no standby"
    assert SOURCE.kinds(Replicated(Lag(0, 0), ())) == ()


def test_the_lag_is_a_level_and_the_last_one_counts() -> None:
    first, last = Replicated(Lag(1 << 20, 9_000_000)), Replicated(Lag(4096, 2_500_000))
    assert isinstance(last, Replicable)
    ends = SOURCE.read(first), SOURCE.read(last)
    read = {kind.name: reading(kind, *ends).value for kind in SOURCE.kinds(last)}
    assert read == {"replay_lag_bytes": 4096, "replay_lag_ms": 2.5}


def test_the_lag_of_an_arm_is_a_line_with_the_median_and_the_most() -> None:
    lag = StandbyLag(
        arm="on", bytes_median=12_000, bytes_most=1_200_000, ms_median=3, ms_most=40, epochs=8
    )
    assert lag_line(lag) == (
        "on: 12 kB and 3 ms behind at the end of the median epoch, 1172 kB and 40 ms at most"
    )
    none = lag.model_copy(update={"bytes_median": 0.0, "bytes_most": 0.0})
    assert lag_line(none) == "on: nothing left to replay at the end of any epoch"
