"""The distance between checkpoints as weighed is compared with what the arms' settings give."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.checkpoint_distance import (
    CheckpointsNearer,
    Distance,
    Images,
    as_weighed,
    by_settings,
    checkpoint_distance,
)
from steelyard.model.threat import Observation

SETTINGS = {
    "checkpoint_timeout": "300 s",
    "max_wal_size": "1024 MB",
    "checkpoint_completion_target": "0.9",
}
WROTE = {"wal_bytes": 80_000_000.0, "full_page_images": 6000.0, "wal_records": 50_000.0}


def near(seconds: float, wal_bytes: float) -> Any:
    return Distance(pytest.approx(seconds), pytest.approx(wal_bytes))


def raised(
    make_epoch: MakeEpoch,
    settings: dict[str, str] = SETTINGS,
    declared: tuple[str, ...] = ("wal_compression",),
    wrote: dict[str, float] = WROTE,
) -> list[Observation]:
    rates = {"on": [250] * 4, "off": [250] * 4}
    counters = {"on": wrote, "off": wrote}
    epochs = [make_epoch(n, rates=rates, counters=counters).totals for n in range(8)]
    own = {"on": settings, "off": settings}
    return list(checkpoint_distance(epochs, "on", "off", own, {*declared}, whole=True))


def test_checkpoints_nearer_than_the_settings_give_are_said_with_the_images(
    make_epoch: MakeEpoch,
) -> None:
    [observed] = raised(make_epoch)
    images = pytest.approx(3.0), pytest.approx(6000 * 8192 / 80e6)
    assert observed == CheckpointsNearer(
        "off",
        # 1 s under load of 4 slices; half of the epoch's log is the measured half's.
        weighed=near(0.25, 1e7),
        configured=near(300.0, 1024 * 2**20 / 1.9),
        images=(Images("on", *images), Images("off", *images)),
        through=("wal_compression",),
    )
    assert observed.name == "checkpoint distance"
    assert not observed.invalidates


def test_what_acts_through_checkpoints_is_listed_by_name(make_epoch: MakeEpoch) -> None:
    [observed] = raised(make_epoch, declared=("work_mem", "wal_compression", "fsync"))
    assert isinstance(observed, CheckpointsNearer)
    assert observed.through == ("fsync", "wal_compression")


def test_a_treatment_that_is_not_on_the_list_gets_the_figures_alone(make_epoch: MakeEpoch) -> None:
    [observed] = raised(make_epoch, declared=("work_mem",))
    assert isinstance(observed, CheckpointsNearer)
    assert observed.through == ()


def test_checkpoints_as_near_as_the_settings_have_them_raise_nothing(make_epoch: MakeEpoch) -> None:
    assert raised(make_epoch, {**SETTINGS, "max_wal_size": "32 MB"}) == []


@pytest.mark.parametrize("missing", ["checkpoint_timeout", "max_wal_size"])
def test_settings_that_are_not_reported_raise_nothing(make_epoch: MakeEpoch, missing: str) -> None:
    assert raised(make_epoch, {k: v for k, v in SETTINGS.items() if k != missing}) == []


def test_work_that_wrote_no_log_raises_nothing(make_epoch: MakeEpoch) -> None:
    assert raised(make_epoch, wrote={"wal_bytes": 0.0}) == []


def test_the_log_limit_is_as_postgresql_computes_it() -> None:
    assert by_settings(SETTINGS) == near(300, 1024 * 2**20 / 1.9)


def test_without_checkpoints_of_visits_the_distance_is_the_epoch(make_epoch: MakeEpoch) -> None:
    counters = {"on": WROTE, "off": WROTE}
    epoch = make_epoch(rates={"on": [250] * 4, "off": [250] * 4}, counters=counters).totals
    distance = as_weighed([epoch], "on", whole=False)
    # Half of the transactions were of the measured second.
    assert distance == Distance(2, 80_000_000)
