"""A load says how far it is, how fast, and how long it will be."""

from __future__ import annotations

from steelyard.workloads.loading.disk_space import LoadProgress


def test_rows_rate_and_time_left_are_told_every_half_second() -> None:
    said: list[str] = []
    moments = iter([0.0, 0.1, 1.0, 1.2, 2.0])
    progress = LoadProgress(said.append, clock=lambda: next(moments))
    progress.expect(3_000)
    progress.expect(1_000)
    for _ in range(4):
        progress.add(500)
    assert said == [
        "load: 1,000 of 4,000 rows, 1,000 rows/s, 3 s left",
        "load: 2,000 of 4,000 rows, 1,000 rows/s, 2 s left",
    ]
