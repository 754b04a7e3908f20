"""A server that was filled is stopped cleanly; one that was not is stopped at once."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.loading import serving


class RecordingServer:
    """A server that notes what it was told; one that can only be stopped has no `discard`."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def start(self, slot: Any, settings: Any) -> None:
        self.said.append("start")

    def stop(self) -> None:
        self.said.append("stop")


class Thrown(RecordingServer):
    """One that can be thrown away."""

    def crash(self) -> None:
        self.said.append("crash")

    def discard(self) -> None:
        self.said.append("discard")


SLOT: Slot = None  # type: ignore[assignment]


@pytest.mark.parametrize(("kind", "ends"), [(Thrown, "discard"), (RecordingServer, "stop")])
def test_a_server_that_was_not_filled_is_stopped_the_fastest_way(kind: Any, ends: str) -> None:
    server, said = kind(), list[str]()
    with pytest.raises(KeyboardInterrupt), serving(server, SLOT, {}, said.append):
        raise KeyboardInterrupt
    assert server.said == ["start", ends]
    assert said == []


def test_a_server_that_was_filled_is_stopped_cleanly() -> None:
    server, said = Thrown(), list[str]()
    with serving(server, SLOT, {}, said.append):  # type: ignore[arg-type]
        pass
    assert server.said == ["start", "stop"]
    assert said == ["stop the server"]
