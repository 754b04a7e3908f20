"""Placement is the same for every arm, and the driver's threads stand where it says."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S
from steelyard.running.measuring.load import (
    backend_processors,
    driver_processors,
    require_no_long_pause,
)
from steelyard.study.read import read_study
from steelyard.workloads.reading.scripts import Script


def test_symmetric_puts_backend_k_beside_the_thread_of_client_k() -> None:
    assert driver_processors([4, 6], "symmetric") == (4, 6)
    assert backend_processors({0: 10, 1: 11, 2: 12}, [4, 6], "symmetric") == {
        10: [4],
        11: [6],
        12: [4],
    }


def test_partition_keeps_driver_and_servers_apart() -> None:
    driver = driver_processors(list(range(8)), "partition")
    backends = backend_processors({0: 10, 1: 11}, list(range(8)), "partition")
    assert driver == (0, 1)
    assert all(not set(allowed) & set(driver) for allowed in backends.values())


@pytest.mark.parametrize("placement", ["free"])
def test_free_pins_nothing(placement: str) -> None:
    assert driver_processors([0, 1], placement) is None
    assert backend_processors({0: 10}, [0, 1], placement) == {}


def test_one_processor_is_shared_in_every_placement() -> None:
    assert driver_processors([3], "partition") == (3,)
    assert backend_processors({0: 10}, [3], "partition") == {10: [3]}


def test_a_client_that_came_back_is_placed_where_its_number_says() -> None:
    assert backend_processors({3: 99}, [0, 1], "symmetric") == {99: [1]}


def test_slices_by_time_are_refused_where_transactions_sleep_for_longer_than_a_border() -> None:
    nap, sleep = (
        Script(name, "", 1, None, writes=False, pause_ns=seconds * NS_PER_S)
        for name, seconds in (("nap", 4), ("sleep", 40))
    )
    by_time = read_study("settings")
    require_no_long_pause(by_time, [nap])
    with pytest.raises(StudyError, match='script "sleep" sleeps for up to about 40 s') as refused:
        require_no_long_pause(by_time, [nap, sleep])
    assert "budget.counted" in str(refused.value)
    by_executions = read_study("settings", ["budget.counted={each = 1, blocks = 1}"])
    require_no_long_pause(by_executions, [nap, sleep])
