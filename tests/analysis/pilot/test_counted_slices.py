"""Slices are cut by executions where those are too slow for a time, and each holds what it must."""

from __future__ import annotations

import pytest

from steelyard.analysis.pilot.slice_length import cut_by_count, longest_timed_ns, too_slow

MS = 1_000_000
S = 1000 * MS
BUDGET = 120 * S
EPOCHS = (10, 18)


@pytest.mark.parametrize(
    ("budget_s", "epochs", "longest_s"),
    [(20, 10, 1), (120, 10, 1), (1200, 10, 6), (7200, 10, 10), (1200, 40, 1.5)],
)
def test_a_slice_by_time_is_a_twentieth_of_an_epoch_between_one_and_ten_seconds(
    budget_s: int, epochs: int, longest_s: float
) -> None:
    assert longest_timed_ns(budget_s * S, epochs) == longest_s * S


@pytest.mark.parametrize(
    ("latency_ms", "clients", "slow"),
    [
        (0.2, 8, False),
        (4.9, 1, False),  # 200 of them take 0.98 s
        (5.1, 1, True),
        (39, 8, False),  # 200 of them take 0.975 s, 20 of each client 0.78 s
        (41, 8, True),
        (300, 1, True),
        (3000, 8, True),
    ],
)
def test_executions_are_slow_where_a_slice_of_200_does_not_fit(
    latency_ms: float, clients: int, *, slow: bool
) -> None:
    assert too_slow(latency_ms * MS, clients / latency_ms * 1000, 1 * S) is slow


def test_executions_are_slow_where_20_of_each_client_do_not_fit() -> None:
    """Of many clients 200 executions are soon done."""
    assert too_slow(60 * MS, 1000 / 60 * 500, 1 * S)


def test_a_second_is_measured_one_by_one_in_as_many_blocks_as_the_budget_holds() -> None:
    cut = cut_by_count({"on": [1.0 * S] * 6, "off": [1.0 * S] * 6}, BUDGET, EPOCHS, "foreground")
    assert (cut.each, cut.warmup, cut.epochs, cut.level) == (1, 1, 18, True)
    assert cut.blocks == round(120 / 18 / 2)


def test_three_seconds_take_fewer_and_longer_epochs() -> None:
    cut = cut_by_count({"on": [3.0 * S] * 4, "off": [3.3 * S] * 4}, BUDGET, EPOCHS, "foreground")
    assert (cut.each, cut.epochs, cut.blocks) == (1, 10, 2)


def test_what_is_longer_than_an_epoch_is_done_once_in_each() -> None:
    cut = cut_by_count({"on": [40.0 * S] * 3, "off": [40.0 * S] * 3}, BUDGET, EPOCHS, "foreground")
    assert (cut.each, cut.warmup, cut.blocks, cut.epochs) == (1, 1, 1, 10)


def test_ten_milliseconds_fill_slices_of_fifty_or_of_a_second_with_checkpoints() -> None:
    times = {"on": [10.0 * MS] * 10, "off": [10.0 * MS] * 10}
    assert cut_by_count(times, BUDGET, EPOCHS, "foreground").each == 5
    assert cut_by_count(times, BUDGET, EPOCHS, "whole").each == 100


def test_cold_executions_are_warmed_away_and_an_epoch_measures_no_less_than_it_warms() -> None:
    times = {"on": [9.0 * S, 4.0 * S, 1.0 * S, 1.0 * S, 1.0 * S, 1.0 * S], "off": [1.0 * S] * 6}
    cut = cut_by_count(times, BUDGET, EPOCHS, "foreground")
    assert (cut.warmup, cut.level) == (2, True)
    assert cut.blocks >= cut.warmup
    assert cut.blocks_in_all == cut.blocks + 2


def test_executions_that_do_not_become_level_are_said() -> None:
    falling = {"on": [9.0 * S, 6.0 * S, 4.0 * S, 1.0 * S, 1.0 * S], "off": [1.0 * S] * 5}
    assert not cut_by_count(falling, BUDGET, EPOCHS, "foreground").level


def test_a_single_disturbed_execution_lengthens_no_warm_up() -> None:
    times = {"on": [1.0 * S] * 5 + [4.0 * S], "off": [1.0 * S] * 6}
    assert cut_by_count(times, BUDGET, EPOCHS, "foreground").warmup == 1


def test_a_number_of_epochs_that_the_study_says_is_kept() -> None:
    times = {"on": [3.0 * S] * 3, "off": [3.0 * S] * 3}
    assert cut_by_count(times, BUDGET, (20, 20), "foreground").epochs == 20
