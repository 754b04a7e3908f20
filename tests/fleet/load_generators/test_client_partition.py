"""Clients are dealt whole, evenly, anew for every seed; nothing that is secret or local crosses."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.driver.plan import DriveArm, DriveLog, DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.load_generators.client_partition import (
    Share,
    deal,
    in_order,
    plan_of,
    request_of,
    shares_of,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret

machines = st.integers(1, 12)
seeds = st.integers(0, 2**63)


def _plan(*clients: int) -> DrivePlan:
    def at(port: int) -> Endpoint:
        return Endpoint("db", port, "u", "d", password=Secret("secret"), options="-c a=1")

    arms = tuple(DriveArm(f"arm{n}", at(5432 + n), own) for n, own in enumerate(clients))
    return DrivePlan(
        arms=arms,
        scripts=(DriveScript("one", "SELECT 1;"),),
        threads=4,
        processors=(0, 1),
        seed=11,
        files=("/proc/vmstat",),
    )


@given(clients=st.integers(1, 5000), count=machines, seed=seeds)
def test_every_client_belongs_to_one_machine_and_shares_differ_by_one_at_most(
    clients: int, count: int, seed: int
) -> None:
    if clients < count:
        with pytest.raises(UsageError, match=f"cannot deal {clients} clients over {count}"):
            deal(clients, count, seed)
        return
    shares = deal(clients, count, seed)
    numbers = [n for share in shares for n in range(share.first, share.first + share.clients)]
    assert sorted(numbers) == list(range(clients))
    sizes = [share.clients for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert [shares[n].first for n in in_order(shares)] == sorted(one.first for one in shares)


@given(whole=st.integers(0, 10**9), clients=st.integers(12, 900), count=machines, seed=seeds)
def test_executions_by_count_are_dealt_whole(
    whole: int, clients: int, count: int, seed: int
) -> None:
    assert sum(share.part(whole) for share in deal(clients, count, seed)) == whole


def test_which_machine_gets_which_clients_is_drawn_anew_for_every_seed() -> None:
    first = Counter(deal(8, 3, seed)[0] for seed in range(300))
    assert set(first) == {Share(0, 2, 8), Share(2, 3, 8), Share(5, 3, 8)}
    assert min(first.values()) > 60  # 100 expected, standard deviation 8
    assert deal(8, 3, 5) == deal(8, 3, 5)


def test_a_machine_gets_its_clients_and_no_password_file_or_processor_of_another() -> None:
    plan = _plan(10, 10)
    own = plan_of(plan, Share(4, 3, 10), threads=8)
    assert [arm.clients for arm in own.arms] == [3, 3]
    assert (own.first_client, own.threads, own.seed) == (4, 3, 11)
    assert (own.processors, own.files) == (None, ())
    told = json.dumps(own.to_json())
    assert "secret" not in told
    assert [arm.endpoint.port for arm in own.arms] == [5432, 5433]
    assert own.arms[0].endpoint.options == "-c a=1"
    assert "first_client" not in plan.to_json()


def test_a_slice_is_told_with_the_machines_own_begin_and_part() -> None:
    whole = SliceRequest(arm=1, count=100, rate=50.0, progress_ns=5, tag="x")
    own = request_of(whole, Share(0, 1, 4), begin_ns=77)
    assert own == SliceRequest(arm=1, count=25, rate=12.5, begin_ns=77, tag="x")
    assert request_of(whole, Share(1, 3, 4), 77).rate == 37.5, "a rate follows the clients"
    by_time = SliceRequest(arm=0, length_ns=9, each=3)
    assert request_of(by_time, Share(0, 1, 4), 7) == SliceRequest(
        arm=0, length_ns=9, each=3, begin_ns=7
    )


def test_arms_of_unlike_numbers_of_clients_and_logs_are_refused() -> None:
    with pytest.raises(UsageError, match="unlike numbers"):
        shares_of(_plan(10, 9), 2)
    plan = DrivePlan(arms=_plan(4).arms, scripts=(), log=DriveLog("x"))
    with pytest.raises(UsageError, match="cannot log on several machines"):
        shares_of(plan, 2)
