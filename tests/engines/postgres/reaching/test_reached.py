"""A server that is running, seen through sessions: settings, plans, identity, what it hides."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from own_cache import own_server
from steelyard.engines.capabilities.counters import Countable, CountedTransactions
from steelyard.engines.capabilities.external import ExternalServer
from steelyard.engines.capabilities.life import Freezable
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.engine import Restartable
from steelyard.engines.postgres import external_server
from steelyard.engines.postgres.adapter import count_alone, reach
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with own_server("18", {"shared_buffers": "16MB"}) as instance:
        yield conninfo_of(instance.address)


@pytest.mark.long
def test_settings_hold_in_its_sessions(address: str) -> None:
    settings = {"work_mem": "7MB", "search_path": "a, b", "enable_seqscan": "off"}
    one = reach(address, None, settings, None)
    seen = one.settings()
    assert seen["work_mem"] == "7168 kB"
    assert seen["search_path"] == "a, b"
    assert len(seen) > 300
    assert "Index Only Scan" in str(
        one.plans("", {"q": "SELECT relname FROM pg_class ORDER BY relname;"})
    )


def test_it_is_reached_and_tuned_but_neither_started_nor_frozen(address: str) -> None:
    one = reach(address, None, {}, None)
    assert isinstance(one, ExternalServer)
    assert isinstance(one, Tunable)
    assert not isinstance(one, Restartable)
    assert not isinstance(one, Freezable)
    assert not isinstance(one, Countable)
    assert one.running
    assert one.identity.version_number // 10000 == 18
    assert one.identity.origin == "address"
    assert one.round_trip_ns() > 0


def test_transactions_are_counted_once_the_sessions_of_the_load_have_gone(address: str) -> None:
    one = reach(address, None, {}, None)
    assert isinstance(one, CountedTransactions)
    assert one.counted_in() == reach(address, "user=postgres", {}, None).counted_in()
    before = one.ended_transactions()
    with psycopg.connect(address, autocommit=True, application_name="steelyard") as session:
        for _ in range(500):
            session.execute("SELECT 1")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 1/0")
    after = one.ended_transactions()
    assert before is not None
    assert after is not None
    assert 501 <= after - before < 520


def test_nothing_is_told_of_transactions_while_the_load_is_there_or_without_counting(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_server, "_LEFT_SECONDS", 0.1)
    with psycopg.connect(address, application_name="steelyard"):
        assert reach(address, None, {}, None).ended_transactions() is None
    assert reach(address, None, {"track_counts": "off"}, None).ended_transactions() is None


@pytest.mark.long
def test_two_addresses_of_one_server_are_one_server(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as session:
        session.execute("CREATE ROLE second LOGIN")
    own = reach(address, None, {}, None)
    assert reach(address, "user=second", {}, None).server() == own.server()
    with own_server("18", port=5433) as other:
        assert reach(conninfo_of(other.address), None, {}, None).server() != own.server()


def test_counters_are_of_a_server_that_one_arm_has_for_itself(address: str) -> None:
    alone = count_alone(reach(address, None, {}, None))
    assert isinstance(alone, Countable)
    before = alone.counters("").values["commits"]
    with psycopg.connect(address, application_name="steelyard", autocommit=True) as session:
        for _ in range(50):
            session.execute("SELECT 1")
    assert alone.counters("").values["commits"] - before >= 50


def test_a_role_that_may_see_little_hides_what_it_must(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as session:
        session.execute("CREATE ROLE humble LOGIN")
        session.execute("REVOKE ALL ON FUNCTION pg_control_system() FROM PUBLIC")
    humble = reach(address, "user=humble", {}, None)
    assert humble.server()[1] == "5432"  # its address, where it does not tell its identity
    assert "primary_conninfo" not in humble.settings()


def test_a_server_that_is_not_there_is_named(address: str) -> None:
    gone = reach(address, "port=1", {}, None)
    assert not gone.running
    with pytest.raises(ServerError, match="could not work on database"):
        _ = gone.identity
    assert gone.settings() == {}
    assert gone.plans("", {"q": "SELECT 1;"}) == {}


def test_a_setting_that_a_session_cannot_have_is_the_servers_own_message(address: str) -> None:
    impossible = reach(address, None, {"shared_buffers": "1GB"}, None)
    with pytest.raises(ServerError) as caught:
        _ = impossible.identity
    assert "cannot be changed without restarting" in str(caught.value.detail)
    with pytest.raises(ServerError) as caught:
        impossible.ping()
    assert "cannot be changed without restarting" in str(caught.value.detail)
    assert not impossible.running
