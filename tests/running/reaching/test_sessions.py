"""Sessions of servers that run: the order of their connections, and which servers they are of."""

from __future__ import annotations

import pytest

from steelyard.model.endpoint import Endpoint
from steelyard.running.external_slots import Sessions, round_trips, servers
from steelyard.running.measuring.arm_loss import ArmLostError
from story.noop.journal import NOOP_IDENTITY
from story.noop.sessions import NoopExternal


def reached(server: str, *, running: bool = True) -> NoopExternal:
    where = Endpoint(server, 5432, "app", "shop")
    return NoopExternal(NOOP_IDENTITY, where, (server,), running=running)


def test_connections_are_opened_in_the_order_of_the_slots() -> None:
    sessions = Sessions({"a": reached("db1"), "b": reached("db1"), "c": reached("db1")})
    started = sessions.start_arms({"a": 2, "b": 0, "c": 1}, ("a", "b", "c"), "reconnect")
    assert list(started) == ["b", "c", "a"]
    sessions.stop_arms()
    assert set(sessions.running_arms) == {"a", "b", "c"}


def test_one_server_is_told_from_several() -> None:
    one = {"a": reached("db1"), "b": reached("db1")}
    two = {"a": reached("db1"), "b": reached("db2")}
    assert Sessions(one).residency == "one server"
    assert Sessions(two).residency == "several servers"
    assert servers(two) == {("db1",), ("db2",)}


def test_a_server_that_takes_no_connection_loses_its_arm() -> None:
    sessions = Sessions({"a": reached("db1"), "b": reached("db2", running=False)})
    with pytest.raises(ArmLostError) as caught:
        sessions.start_arms({"a": 0, "b": 1}, ("a", "b"), "reconnect")
    assert caught.value.outcome == "could not start: b"
    assert caught.value.primary == 'arm "b": it takes no connection now'


def test_round_trips_are_those_of_reached_servers() -> None:
    assert round_trips({"a": reached("db1")}) == {"a": 20_000}
