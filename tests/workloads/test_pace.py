"""A load says how far it is, how fast, and how long it will be."""

from __future__ import annotations

from steelyard.workloads.loading.pace import Pace


def test_rows_rate_and_time_left_are_told_every_half_second() -> None:
    said: list[str] = []
    moments = iter([0.0, 0.1, 1.0, 1.2, 2.0])
    pace = Pace(said.append, clock=lambda: next(moments))
    pace.expect(3_000)
    pace.expect(1_000)
    for _ in range(4):
        pace.add(500)
    assert said == [
        "load: 1,000 of 4,000 rows, 1,000 rows/s, 3 s left",
        "load: 2,000 of 4,000 rows, 1,000 rows/s, 2 s left",
    ]
