"""Three machines, which are three drivers with false clocks, do what one driver does."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from driver.served import PASSWORD, Server
from fleet.load_generators.false_clock import FarAgent
from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.load_generators import drivers as of_crowd
from steelyard.fleet.load_generators import load_agent as of_agent
from steelyard.fleet.load_generators.drivers import DriverGroup
from steelyard.model.errors import DriverError, ServerError
from steelyard.model.secrets.secret import Secret
from thinned import thinned

pytestmark = pytest.mark.postgres

MS = 1_000_000
HOUR_NS = 3_600_000 * MS
SELECT_ONE = DriveScript("one", "SELECT 1;", rows=1)
NOTED = DriveScript(
    "noted", "\\set k random(1, 1000000000)\nINSERT INTO noted VALUES (:client_id, :k);"
)
SLOW = DriveScript("slow", "SELECT pg_sleep(3600);")
TWO_SECONDS = DriveScript("two seconds", "SELECT pg_sleep(2);")


def far_agents() -> list[FarAgent]:
    return [
        FarAgent("a", offset_ns=HOUR_NS, drift=200e-6, there_s=0.004),
        FarAgent("b", offset_ns=-HOUR_NS, drift=-150e-6, back_s=0.003),
        FarAgent("c", offset_ns=123 * MS, there_s=0.001, back_s=0.001),
    ]


def _plan(*arms: DriveArm, script: DriveScript = SELECT_ONE, **changes: Any) -> DrivePlan:
    return DrivePlan(arms=arms, scripts=(script,), variables={"scale": 1}, **changes)


@contextmanager
def _group(plan: DrivePlan, hands: Sequence[FarAgent]) -> Iterator[DriverGroup]:
    made = DriverGroup(plan, hands, threads=None)
    try:
        yield made
    finally:
        made.close()


def _sessions(server: Server) -> int:
    """Of drivers; those that have just been ended are waited for."""
    ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"
    for _ in range(100):
        left: int = server.one(ask)
        if not left:
            return 0
        time.sleep(0.05)
    return left


@pytest.mark.long
def test_a_crowd_does_the_same_work_to_the_key_as_one_driver_with_the_same_seed(
    server: Server,
) -> None:
    plan = _plan(server.arm(clients=7), script=NOTED, seed=42, threads=2)
    slices = [SliceRequest(arm=0, each=each, tag=each) for each in (3, 5)]
    found, answers = [], []
    with server.connect() as connection:
        connection.execute("CREATE TABLE noted (client int, k bigint)")
        try:
            for alone in (True, False):
                if alone:
                    with Driver.start(plan) as driver:
                        answers.append(list(driver.run(slices)))
                else:
                    with _group(plan, far_agents()) as group:
                        answers.append(list(group.run(slices)))
                rows = connection.execute("SELECT client, k FROM noted ORDER BY 1, 2").fetchall()
                found.append(rows)
                connection.execute("TRUNCATE noted")
        finally:
            connection.execute("DROP TABLE noted")
    assert found[0] == found[1]
    assert len(found[1]) == 7 * 8
    for one, many in zip(*answers, strict=True):
        assert (many.clients, many.transactions, many.tag) == (7, one.transactions, one.tag)
        assert many.scripts[0].transactions == many.transactions
        counted = _core.histogram_quantiles([many.scripts[0].latency], [0.5])
        assert counted["count"] == many.transactions
        assert one.together is None
        assert many.together is not None
        parts = many.together.machines
        assert sum(part.transactions for part in parts) == many.transactions
        assert sum(part.busy_ns for part in parts) == many.busy_ns
        assert sorted(part.clients for part in parts) == [2, 2, 3]


def test_arms_never_overlap_and_the_skew_is_what_the_true_clock_shows_within_its_bound(
    server: Server,
) -> None:
    plan = _plan(server.arm("x", clients=4), server.arm("y", clients=4), seed=5)
    order = [0, 1, 1, 0, 1, 0, 0, 1]
    hands = far_agents()
    with _group(plan, hands) as group:
        requests = [SliceRequest(arm=arm, length_ns=40 * MS) for arm in order]
        answers = list(group.run(requests))
        clocks = group.clocks
    spans = list(zip(*(hand.spans_ns for hand in hands), strict=True))
    assert len(spans) == len(answers) == len(order)
    for one, after in itertools.pairwise(spans):
        assert max(end for _, end in one) < min(start for start, _ in after)
    for answer, span in zip(answers, spans, strict=True):
        _check_skew(answer, hands, [start for start, _ in span])
    now_ns = time.monotonic_ns()
    for hand in hands:
        found = clocks[hand.name].offset(now_ns)
        assert abs(found.value_ns - (hand.false_ns(now_ns) - now_ns)) <= found.bound_ns
        drift = clocks[hand.name].drift
        assert drift is not None
        assert abs(drift.ns_per_s - hand.drift * 1e9) <= drift.bound_ns_per_s


def _check_skew(answer: SliceAnswer, hands: Sequence[FarAgent], starts_ns: list[int]) -> None:
    together = answer.together
    assert together is not None
    true_ns = max(starts_ns) - min(starts_ns)
    assert abs(together.skew_ns - true_ns) <= together.skew_bound_ns
    assert 0 < together.skew_bound_ns < 20 * MS
    for hand, part, start_ns in zip(hands, together.machines, starts_ns, strict=True):
        apart_ns = hand.false_ns(start_ns) - start_ns
        assert abs(part.offset_ns - apart_ns) <= part.offset_bound_ns + 1
        assert part.name == hand.name
    assert answer.end_ns - answer.start_ns >= 40 * MS


def test_backends_are_told_in_the_order_of_all_clients_and_dealt_anew_by_the_seed(
    server: Server,
) -> None:
    dealt = set()
    for seed in range(4):
        hands = [FarAgent(name) for name in "abc"]
        with _group(_plan(server.arm(clients=7), seed=seed), hands) as group:
            shown = server.one(
                "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'steelyard'"
            )
            assert sorted(group.connected["arm"]) == sorted(shown)
            assert group.io in {"io_uring", "epoll"}
        dealt.add(tuple(hand.plans[0].first_client for hand in hands))
    assert len(dealt) > 1
    assert _sessions(server) == 0


def _in_mid_slice(do: Any, seconds: float = 0.4) -> None:
    timer = threading.Timer(seconds, do)
    timer.daemon = True
    timer.start()


@thinned("name", ["a", "b", "c"], 1)
def test_a_killed_driver_is_named_and_what_it_had_begun_is_ended_in_the_server(
    server: Server, name: str
) -> None:
    hands = {name: FarAgent(name) for name in "abc"}
    plan = _plan(server.arm(clients=6), script=SLOW, drain_cap_ns=200 * MS)

    def kill() -> None:
        pid = hands[name].hand.driver_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    with _group(plan, list(hands.values())) as group:
        _in_mid_slice(kill)
        with pytest.raises(DriverError, match=f'load machine "{name}": .*signal 9'):
            list(group.run([SliceRequest(arm=0, length_ns=800 * MS)]))
    assert _sessions(server) == 0
    # The next epoch has all of them again.
    with _group(_plan(server.arm(clients=6)), list(hands.values())) as group:
        (answer,) = group.run([SliceRequest(arm=0, each=2)])
    assert answer.transactions == 12


def test_a_driver_that_stands_still_is_ended_at_its_deadline(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_crowd, "REPLY_NS", 300 * MS)
    hands = [FarAgent(name) for name in "abc"]
    plan = _plan(server.arm(clients=3), drain_cap_ns=100 * MS)

    def stop() -> None:
        pid = hands[1].hand.driver_pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)

    with _group(plan, hands) as group:
        _in_mid_slice(stop, 0.1)
        with pytest.raises(DriverError, match='load machine "b"'):
            list(group.run([SliceRequest(arm=0, length_ns=500 * MS)]))
    assert _sessions(server) == 0


@pytest.mark.long
def test_a_driver_that_stands_still_in_a_slice_by_a_count_is_ended_when_it_is_not_heard_of(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_agent, "HEARD_NS", 100 * MS)
    monkeypatch.setattr(of_agent, "SILENT_S", 1.0)
    hands = [FarAgent(name) for name in "abc"]

    def stop() -> None:
        pid = hands[1].hand.driver_pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)

    with _group(_plan(server.arm(clients=3), script=TWO_SECONDS), hands) as group:
        (answer,) = group.run([SliceRequest(arm=0, each=1)])
        assert answer.transactions == 3, "a slow one is heard of, and waited for"
        _in_mid_slice(stop, 0.5)
        began = time.monotonic()
        with pytest.raises(DriverError, match='load machine "b"'):
            list(group.run([SliceRequest(arm=0, each=1)]))
        assert time.monotonic() - began < 10
    assert _sessions(server) == 0


def test_of_a_lost_machine_in_a_slice_by_a_count_the_others_are_ended(server: Server) -> None:
    hands = [FarAgent(name) for name in "abc"]

    def kill() -> None:
        pid = hands[1].hand.driver_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    with _group(_plan(server.arm(clients=3), script=SLOW), hands) as group:
        _in_mid_slice(kill)
        with pytest.raises(DriverError, match='load machine "b"'):
            list(group.run([SliceRequest(arm=0, each=1)]))
    assert _sessions(server) == 0


def test_sessions_that_a_server_cannot_be_asked_to_end_are_an_error_by_the_machines_name(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ServerError("could not end sessions of a lost machine")

    monkeypatch.setattr(of_crowd, "end_sessions", refuse)
    hands = [FarAgent(name) for name in "ab"]
    group = DriverGroup(_plan(server.arm(clients=2)), hands, threads=None)
    group._seats[1].lost = True
    with pytest.raises(DriverError, match='load machine "b": could not end sessions'):
        group.close()
    assert _sessions(server) == 0


def test_a_clock_that_jumps_ends_the_epoch_by_name(server: Server) -> None:
    hands = [FarAgent(name) for name in "abc"]
    with _group(_plan(server.arm(clients=3)), hands) as group:
        (answer,) = group.run([SliceRequest(arm=0, length_ns=20 * MS)])
        assert answer.transactions > 0
        hands[2].offset_ns += 200 * MS
        with pytest.raises(DriverError, match='clock of machine "c" has jumped'):
            list(group.run([SliceRequest(arm=0, length_ns=20 * MS)]))


def test_every_machine_logs_in_with_its_own_password(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = server.arm(
        clients=2, host="127.0.0.1", user="scram_user", password=Secret("coordinator's")
    )
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    hands = [FarAgent("a"), FarAgent("b")]
    with _group(_plan(arm), hands) as group:
        (answer,) = group.run([SliceRequest(arm=0, each=1)])
    assert answer.transactions == 2
    assert all(one.endpoint.password is None for hand in hands for one in hand.plans[0].arms)


def test_a_machine_that_cannot_connect_is_named_and_the_others_let_go(server: Server) -> None:
    arm = server.arm(clients=2, user="nobody")
    with pytest.raises(DriverError, match='load machine "a": could not connect client'):
        DriverGroup(_plan(arm), [FarAgent("a"), FarAgent("b")], threads=None)
    assert _sessions(server) == 0
