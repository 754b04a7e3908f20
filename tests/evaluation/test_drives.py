"""A drive before and after is one drive; what is left of its life follows from its counters."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.evaluation.drives import (
    DriveChange,
    drive_changes,
    endurance,
    endurance_unknown,
    too_few_steps,
)
from steelyard.record.machine import DriveHealth

PB = 10**15
# A drive in a published study: 6,679 h on, 6.18 PB written, 12 % used; 268 GB in 240 s of load.
WORN = DriveHealth(
    device="nvme0n1",
    source="smartctl 7.3",
    model="Maker DC",
    used_percent=12,
    written_bytes=618 * PB // 100,
    read_bytes=7 * PB,
    step_bytes=512_000,
    power_on_h=6679,
    media_errors=0,
    warnings=(),
)


def later(one: DriveHealth = WORN, **changes: Any) -> DriveHealth:
    return one.model_copy(update=changes)


def change_to(last: DriveHealth) -> DriveChange:
    [change] = drive_changes([WORN], [last])
    return change


def test_endurance_is_what_was_written_over_what_is_used_with_the_range_of_the_step() -> None:
    found = endurance(WORN, 268e9 / 240)
    assert found is not None
    assert found.total_bytes.likely == pytest.approx(51.5 * PB)
    assert found.total_bytes.low == pytest.approx(6.18 * PB / 0.125)
    assert found.total_bytes.high == pytest.approx(6.18 * PB / 0.115)
    lifetime, this = found.left_at_lifetime_rate_h, found.left_at_this_rate_h
    assert lifetime is not None
    assert this is not None
    # 55,700 h in all by percent (53,400 … 58,100), of which 6,679 are gone.
    assert lifetime.likely + 6679 == pytest.approx(55_700, rel=0.001)
    assert lifetime.low + 6679 == pytest.approx(53_400, rel=0.001)
    assert lifetime.high + 6679 == pytest.approx(58_100, rel=0.001)
    # 45.3 PB at 4.02 TB an hour.
    assert this.likely == pytest.approx(11_270, rel=0.001)


def test_each_rate_is_told_only_where_it_is_known() -> None:
    found = endurance(later(power_on_h=None), None)
    assert found is not None
    assert (found.left_at_lifetime_rate_h, found.left_at_this_rate_h) == (None, None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"used_percent": 2}, "only 2 % of it is used"),
        ({"used_percent": 0}, "only 0 % of it is used"),
        ({"used_percent": None}, "does not say how much"),
        ({"written_bytes": 0}, "does not say how much"),
        ({"used_percent": 100}, "all of it is used"),
        ({"used_percent": 255}, "all of it is used"),
    ],
)
def test_endurance_that_cannot_be_told_is_refused_with_the_reason(
    changes: dict[str, int | None], why: str
) -> None:
    assert endurance(later(**changes), 1e9) is None
    assert why in endurance_unknown(later(**changes))


def test_from_3_percent_on_it_is_computed() -> None:
    assert endurance_unknown(later(used_percent=3)) == ""
    assert endurance(later(used_percent=99), 1e9) is not None


def test_growth_is_known_only_where_both_readings_are() -> None:
    change = change_to(later(written_bytes=618 * PB // 100 + 5, media_errors=2))
    assert (change.grew("written_bytes"), change.grew("media_errors")) == (5, 2)
    assert change.grew("heavy_throttling_count") is None
    assert change_to(later(media_errors=None)).grew("media_errors") is None


@pytest.mark.parametrize(
    "last",
    [
        later(device="nvme1n1"),
        later(model="Another"),
        later(written_bytes=5),
        later(power_on_h=1),
        later(step_bytes=512),
    ],
)
def test_another_drive_under_the_same_name_is_not_compared(last: DriveHealth) -> None:
    assert change_to(last).after is None
    assert change_to(last).latest is WORN


def test_a_drive_that_could_not_be_read_again_is_told_as_it_was() -> None:
    gone = DriveHealth(device="nvme0n1", source="sysfs", model="Maker  DC", why_not="no right")
    change = change_to(gone)
    assert change.after is gone
    assert change.latest is WORN
    assert change.grew("written_bytes") is None


def test_of_a_drive_that_never_counts_what_is_written_the_later_reading_holds() -> None:
    before = later(written_bytes=None)
    [change] = drive_changes([before], [later(before, power_on_h=6680)])
    assert change.latest.power_on_h == 6680


def test_a_warning_is_new_where_it_was_not_there_before() -> None:
    before = later(warnings=("a",))
    [change] = drive_changes([before], [later(warnings=("a", "b"))])
    assert change.new_warnings == ("b",)


@pytest.mark.parametrize(("grown", "few"), [(0, True), (19 * 512_000, True), (20 * 512_000, False)])
def test_few_steps_of_a_counter_say_little(grown: int, few: bool) -> None:
    assert too_few_steps(WORN, grown) is few
