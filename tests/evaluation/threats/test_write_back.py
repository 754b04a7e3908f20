"""Write-back counts as shared where arms dirty unequally and the devices do not write so."""

from __future__ import annotations

import math

import pytest

from steelyard.evaluation.threats.cycles import WriteBackShared, write_back_shared

NAN = math.nan


ARMS = ("off", "pglz")


def observed(
    dirtied: tuple[float, float], written: tuple[float, float], queue: float
) -> WriteBackShared | None:
    return write_back_shared(
        dict(zip(ARMS, dirtied, strict=True)), dict(zip(ARMS, written, strict=True)), queue
    )


@pytest.mark.parametrize(
    ("dirtied", "written", "queue", "share"),
    [
        ((8e6, 4e6), (8e6, 4e6), 3.0, None),  # as the log that is flushed: each writes its own
        ((8e6, 4e6), (6e6, 6e6), 3.0, 0.5),  # half of what off leaves is written in pglz's slices
        ((4e6, 8e6), (6e6, 6e6), 3.0, 0.5),
        ((8e6, 4e6), (7e6, 5e6), 3.0, 0.25),
        ((8e6, 4e6), (5e6, 7e6), 3.0, 0.5),  # never more than they differ
        ((8e6, 4e6), (9e6, 4e6), 3.0, None),  # the journal of a file system comes beside it
        ((8e6, 4e6), (6e6, 6e6), 0.9, None),  # nothing waits for the device
        ((8e6, 7.5e6), (7e6, 7e6), 3.0, None),  # less than a tenth
        ((8e6, 8e6), (8e6, 8e6), 3.0, None),
        ((0.0, 0.0), (0.0, 0.0), 3.0, None),
        ((NAN, 4e6), (6e6, 6e6), 3.0, None),
        ((8e6, 4e6), (NAN, 6e6), 3.0, None),
        ((8e6, 4e6), (6e6, 6e6), NAN, None),
    ],
)
def test_what_is_dirtied_is_held_against_what_the_devices_wrote(
    dirtied: tuple[float, float], written: tuple[float, float], queue: float, share: float | None
) -> None:
    if share is None:
        assert observed(dirtied, written, queue) is None
    else:
        shared = WriteBackShared(ARMS, dirtied, written, queue, pytest.approx(share))
        assert observed(dirtied, written, queue) == shared
