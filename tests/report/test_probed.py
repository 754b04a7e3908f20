"""The page sets what a probe found beside what the weighing asked of the storage."""

from __future__ import annotations

from evaluation.transaction.test_ceiling import known
from record.made import verdict_of
from steelyard.record.environment import ArmFacts, Environment
from steelyard.record.epoch import ArmLine, EpochLine, ReadingLine
from steelyard.record.machine import LOG_PATH, PEAK_READ, PEAK_WRITE, RANDOM_READ
from steelyard.record.verdict import TimePart, TimeParts
from steelyard.report.devices import probed_rows
from tuning.probes import figure, probe_of

PROBE = probe_of(
    figure(RANDOM_READ, 10_000),
    figure(PEAK_READ, 50_000),
    figure(PEAK_WRITE, 10_000),
    figure(LOG_PATH, 5_000),
)
PLACE = Environment(
    arms={"on": ArmFacts(build={}), "off": ArmFacts(build={})},
    probe=PROBE,
    probe_age_seconds=7200.0,
)


def _epoch() -> EpochLine:
    readings = tuple(
        ReadingLine(name=name, unit="", value=value, measured=True)
        for name, value in known(10_000, 1_000).items()
    )
    return EpochLine(epoch=0, slots={}, start_order=(), arms={"on": ArmLine(readings=readings)})


def test_age_share_of_the_ceiling_and_sync_path_are_told() -> None:
    wal = TimePart(
        part="wal", control_us=400.0, arm_us=500.0, difference_us=100.0, low_us=1.0, high_us=200.0
    )
    time = TimeParts(control="on", arm="off", epochs=8, control_us=1.0, arm_us=1.0, parts=(wal,))
    rows = dict(probed_rows(PLACE, [_epoch()], verdict_of(time=(time,))))
    assert rows["probe of nvme0n1"].startswith("2 h before: random read, depth 1 10000/s in 100 µs")
    assert rows["while on was driven"] == (
        "5000 of 50000 reads/s and 500 of 10000 writes/s: 15 % of what the probe got from it"
    )
    assert rows["write and sync of the log"] == (
        "200 µs for a lone client in the probe; a transaction waited 400 µs in on, 500 µs in off"
    )
    assert "while off was driven" not in rows


def test_of_a_probe_through_the_page_cache_no_share_is_told_but_the_log_is() -> None:
    place = PLACE.model_copy(update={"probe": PROBE.model_copy(update={"direct": False})})
    rows = dict(probed_rows(place, [_epoch()], None))
    assert rows["share of what the device can do"].startswith(
        "not told: the probe could not bypass the page cache"
    )
    assert "while on was driven" not in rows


def test_a_peak_that_was_the_processors_is_called_so() -> None:
    bound = figure(PEAK_READ, 50_000, processor_share=0.95)
    probe = probe_of(bound, figure(PEAK_WRITE, 10_000))
    rows = dict(probed_rows(PLACE.model_copy(update={"probe": probe}), [_epoch()], None))
    assert "50000/s in 20 µs (the limit was the processors)" in rows["probe of nvme0n1"]
    assert rows["while on was driven"].endswith("the device can do more")


def test_without_a_probe_nothing_is_told() -> None:
    assert probed_rows(Environment(arms=PLACE.arms), [_epoch()], None) == []
