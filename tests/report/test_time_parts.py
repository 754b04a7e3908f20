"""Times of parts are told in one unit each, and the cause in a sentence."""

from __future__ import annotations

import pytest

from steelyard.record.verdict import Bottleneck, TimePart, TimeParts
from steelyard.report.time_parts import (
    bottleneck_line,
    cause_lines,
    cause_sentence,
    difference_text,
    draw_time_parts,
    part_rows,
)


def part(name: str, difference: float, low: float | None, high: float | None) -> TimePart:
    return TimePart.model_validate(
        {
            "part": name, "control_us": 9e3, "arm_us": 9e3 + difference,
            "difference_us": difference, "low_us": low, "high_us": high,
        }
    )  # fmt: skip


def time_parts(cause: TimePart | None, *parts: TimePart, **more: object) -> TimeParts:
    arm_us = sum(one.arm_us for one in parts)
    return TimeParts(
        control="on", arm="off", epochs=10, control_us=9e3 * len(parts), arm_us=arm_us,
        parts=parts, cause=cause, **more,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (part("wal", 0.7, 0.5, 0.9), "+700 ns [+500, +900]"),
        (part("wal", 0.7, -0.5, 1.9), "+0.7 µs [−0.5, +1.9]"),
        (part("wal", -222.0, -303.0, -140.0), "−222 µs [−303, −140]"),
        (part("wal", -2220.0, -3030.0, -140.0), "−2.22 ms [−3.03, −0.14]"),
        (part("wal", 0.0, 0.0, 0.0), "0 ns [0, 0]"),
        (part("wal", 1.0, None, 2.0), "+1 µs [unbounded, +2]"),
    ],
)
def test_a_difference_has_one_unit(found: TimePart, text: str) -> None:
    assert difference_text(found) == text


def test_the_cause_is_told_with_the_whole_difference() -> None:
    wal, cpu = part("wal", -20.0, -25.0, -15.0), part("processor", -5.0, -9.0, 1.0)
    sentence = cause_sentence(time_parts(wal, wal, cpu))
    assert sentence == "writing and syncing WAL: −20 µs [−25, −15] of −25 µs a transaction"
    with_queue = cause_sentence(time_parts(cpu, cpu))
    assert with_queue.startswith("on a processor, with the queue for it: −5 µs")
    assert cause_sentence(time_parts(None, wal, cpu)).startswith(
        "no cause found: no part covers half of"
    )


def test_rows_mark_the_cause_and_end_with_the_whole() -> None:
    wal, cpu = part("wal", -20.0, -25.0, -15.0), part("processor", -5.0, -9.0, 1.0)
    rows = part_rows(time_parts(wal, wal, cpu))
    assert [row["note"] for row in rows] == ["the cause", "", ""]
    assert (rows[-1]["metric"], rows[-1]["reading"]) == ("a transaction", "−25 µs")
    assert [row["with_queue"] for row in rows] == ["", "", ""]


def test_rows_show_what_the_cause_is_named_from() -> None:
    cpu, queue = part("processor", -5.0, -6.0, -4.0), part("queue", -15.0, -18.0, -12.0)
    divided = part("processor", -19.0, -22.0, -16.0), part("queue", -1.0, -3.0, 1.0)
    rows = part_rows(time_parts(divided[0], cpu, queue, with_queue=divided))
    assert rows[0]["reading"] == "−5 µs [−6, −4]"
    assert rows[0]["with_queue"] == "−19 µs [−22, −16]"
    assert rows[1]["with_queue"] == "−1 µs [−3, +1]"


def test_several_arms_have_a_line_each() -> None:
    one = time_parts(None, part("wal", 1.0, -2.0, 3.0))
    assert [line.partition(":")[0] for line in cause_lines([one, one])] == ["why off"] * 2
    assert cause_lines([one])[0].startswith("why: ")


def test_bottlenecks_are_told_together_or_apart() -> None:
    both = [Bottleneck(arm=arm, kind="client", share=0.5, evidence="50 %") for arm in ("on", "off")]
    wal = part("wal", 1.0, -2.0, 3.0)
    alike = time_parts(None, wal, bottlenecks=tuple(both))
    assert bottleneck_line(alike) == "bottleneck of both: client (50 % in on)"
    other = both[1].model_copy(update={"kind": "WAL flush"})
    apart = bottleneck_line(time_parts(None, wal, bottlenecks=(both[0], other)))
    assert apart == "bottleneck: the arms differ: on: client (50 %); off: WAL flush (50 %)"
    assert bottleneck_line(time_parts(None, wal)) == ""


@pytest.mark.parametrize("width", [920.0, 342.0])
def test_the_picture_has_a_bar_an_arm_and_a_row_a_part(width: float) -> None:
    wal, rest = part("wal", -20.0, -25.0, -15.0), part("rest", -9130.0, -9180.0, None)
    svg = str(draw_time_parts(time_parts(wal, wal, rest), width))
    assert svg.count('class="part wal"') == 4  # two bars, the key, the difference
    assert svg.count('class="part rest"') == 2  # below zero in one arm: no bar, no difference
    assert "cannot be told" in svg
    assert "◂ the cause" in svg
    assert "−20 µs [−25, −15]" in svg
