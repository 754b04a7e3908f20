"""Write-back counts as shared where arms dirty unequally and the devices do not write so."""

from __future__ import annotations

import math

import pytest

from steelyard.evaluation.threats.cycles import write_back_words

NAN = math.nan


def words(dirtied: tuple[float, float], written: tuple[float, float], queue: float) -> str:
    names = ("off", "pglz")
    return write_back_words(
        dict(zip(names, dirtied, strict=True)), dict(zip(names, written, strict=True)), queue
    )


@pytest.mark.parametrize(
    ("dirtied", "written", "queue", "share"),
    [
        ((8e6, 4e6), (8e6, 4e6), 3.0, None),  # as the log that is flushed: each writes its own
        ((8e6, 4e6), (6e6, 6e6), 3.0, 50),  # half of what off leaves is written in pglz's slices
        ((4e6, 8e6), (6e6, 6e6), 3.0, 50),
        ((8e6, 4e6), (7e6, 5e6), 3.0, 25),
        ((8e6, 4e6), (5e6, 7e6), 3.0, 50),  # never more than they differ
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
    dirtied: tuple[float, float], written: tuple[float, float], queue: float, share: int | None
) -> None:
    said = words(dirtied, written, queue)
    assert (said == "") == (share is None)
    if share is not None:
        assert f"understated by up to {share} % of the device's part" in said
        assert f"{queue:.1f} requests under way" in said
