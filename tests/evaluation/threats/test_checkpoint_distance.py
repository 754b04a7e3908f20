"""The distance between checkpoints as weighed is compared with what the arms' settings give."""

from __future__ import annotations

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.checkpoint_distance import (
    as_weighed,
    by_settings,
    checkpoint_distance,
)
from steelyard.model.threat import Threat

SETTINGS = {
    "checkpoint_timeout": "300 s",
    "max_wal_size": "1024 MB",
    "checkpoint_completion_target": "0.9",
}
WROTE = {"wal_bytes": 80_000_000.0, "full_page_images": 6000.0, "wal_records": 50_000.0}


def raised(
    make_epoch: MakeEpoch,
    settings: dict[str, str] = SETTINGS,
    declared: tuple[str, ...] = ("wal_compression",),
    wrote: dict[str, float] = WROTE,
) -> list[Threat]:
    rates = {"on": [250] * 4, "off": [250] * 4}
    counters = {"on": wrote, "off": wrote}
    epochs = [make_epoch(n, rates=rates, counters=counters).totals for n in range(8)]
    own = {"on": settings, "off": settings}
    return list(checkpoint_distance(epochs, "on", "off", own, {*declared}, whole=True))


def test_checkpoints_nearer_than_the_settings_give_are_said_with_the_images(
    make_epoch: MakeEpoch,
) -> None:
    [threat] = raised(make_epoch)
    assert threat.name == "checkpoint distance"
    assert not threat.invalidates
    # 1 s under load of 4 slices; half of the epoch's log is the measured half's.
    assert "every 250 ms and 9766 kB of WAL" in threat.seen
    assert "every 5 min or 539 MB" in threat.seen
    assert "3 full-page images a transaction of on, up to 61 % of its WAL" in threat.seen
    assert threat.seen.endswith(
        "wal_compression acts through these: the figure is of that distance"
    )


def test_a_treatment_that_is_not_on_the_list_gets_the_figures_alone(make_epoch: MakeEpoch) -> None:
    [threat] = raised(make_epoch, declared=("work_mem",))
    assert "the figure is of that distance" not in threat.seen


def test_checkpoints_as_near_as_the_settings_have_them_raise_nothing(make_epoch: MakeEpoch) -> None:
    assert raised(make_epoch, {**SETTINGS, "max_wal_size": "32 MB"}) == []


@pytest.mark.parametrize("missing", ["checkpoint_timeout", "max_wal_size"])
def test_settings_that_are_not_reported_raise_nothing(make_epoch: MakeEpoch, missing: str) -> None:
    assert raised(make_epoch, {k: v for k, v in SETTINGS.items() if k != missing}) == []


def test_work_that_wrote_no_log_raises_nothing(make_epoch: MakeEpoch) -> None:
    assert raised(make_epoch, wrote={"wal_bytes": 0.0}) == []


def test_the_log_limit_is_as_postgresql_computes_it() -> None:
    found = by_settings(SETTINGS)
    assert found is not None
    assert found.seconds == 300
    assert found.wal_bytes == pytest.approx(1024 * 2**20 / 1.9)


def test_without_checkpoints_of_visits_the_distance_is_the_epoch(make_epoch: MakeEpoch) -> None:
    counters = {"on": WROTE, "off": WROTE}
    epoch = make_epoch(rates={"on": [250] * 4, "off": [250] * 4}, counters=counters).totals
    found = as_weighed([epoch], "on", whole=False)
    assert found is not None
    assert found.seconds == 2  # half of the transactions were of the measured second
    assert found.wal_bytes == 80_000_000
