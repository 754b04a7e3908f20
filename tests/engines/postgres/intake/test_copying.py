"""A long copy says how far it is, in bytes of bytes, and what is left of its time."""

from __future__ import annotations

from steelyard.engines.postgres.intake.copying import CopyProgress


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_bytes_of_bytes_and_the_time_left_are_said_every_few_seconds() -> None:
    said: list[str] = []
    clock = Clock()
    progress = CopyProgress(said.append, 200_000_000, clock)
    for _ in range(40):
        clock.now_s += 0.5
        progress.add(5_000_000)
    assert said[0] == "copy the data: 20 of 200 MB, 18 s left"
    assert said[1] == "copy the data: 40 of 200 MB, 16 s left"
    assert said[-1] == "copy the data: 200 MB"
    assert len(said) == 10


def test_a_short_copy_says_nothing_and_one_of_unknown_size_what_it_has() -> None:
    said: list[str] = []
    clock = Clock()
    CopyProgress(said.append, 1000, clock).add(1000)
    assert said == []
    progress = CopyProgress(said.append, None, clock)
    clock.now_s = 3.0
    progress.reach(7_000_000)
    assert said == ["copy the data: 7 MB"]
