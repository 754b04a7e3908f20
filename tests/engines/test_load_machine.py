"""Sessions that a lost machine has left on PostgreSQL are ended, waited for, and nobody else's."""

from __future__ import annotations

import time
from dataclasses import replace

import psycopg
import pytest

from driver.conftest import server
from driver.served import Server
from steelyard.engines import adapters
from steelyard.engines.adapters import end_sessions
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

__all__ = ["server"]


@pytest.mark.long
@pytest.mark.postgres
def test_they_are_gone_when_it_returns_and_another_sessions_number_is_spared(
    server: Server,
) -> None:
    named = f"{server.conninfo} application_name='steelyard'"
    with psycopg.connect(named, autocommit=True) as lost, server.connect() as other:
        endpoint = replace(server.address, application_name="steelyard")
        pids = [one.info.backend_pid for one in (lost, other)]
        end_sessions(endpoint, pids)
        there = {pid for (pid,) in other.execute("SELECT pid FROM pg_stat_activity").fetchall()}
        assert pids[0] not in there
        assert pids[1] in there


@pytest.mark.postgres
def test_a_server_that_cannot_be_asked_is_an_error_with_its_words(server: Server) -> None:
    with pytest.raises(ServerError, match="could not end sessions of a lost machine") as failed:
        end_sessions(replace(server.address, user="nobody"), [1])
    assert 'role "nobody" does not exist' in (failed.value.detail or "")


def test_of_no_sessions_no_server_is_asked() -> None:
    end_sessions(Endpoint("nowhere.example", 1, "u", "d"), [])


def test_sessions_that_stay_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def still_there(_: Endpoint, sessions: list[int]) -> int:
        asked.append(sessions)
        return len(sessions)

    monkeypatch.setattr(adapters, "_request_end", still_there)
    monkeypatch.setattr(adapters, "GONE_S", 0.3)
    began = time.monotonic()
    with pytest.raises(ServerError, match="could not end sessions") as failed:
        end_sessions(Endpoint("db1", 5432, "u", "d"), [4, 5])
    assert time.monotonic() - began < 10
    assert len(asked) > 1
    assert "their locks stand" in (failed.value.detail or "")
