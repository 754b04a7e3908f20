"""Says how near together the checkpoints of an arm lay, and what is written because of it."""

from __future__ import annotations

from steelyard.evaluation.threats import checkpoint_distance as seen
from steelyard.model.units import NS_PER_S, format_bytes, format_digits, format_duration
from steelyard.wording.threats.advice import Texts


def _nearer(observed: seen.CheckpointsNearer) -> str:
    (every, wal), (settings_every, settings_wal) = map(
        _distance, (observed.weighed, observed.configured)
    )
    sentence = (
        f"as weighed a checkpoint of {observed.arm} every {every} and {wal} of WAL, where its "
        f"settings give one every {settings_every} or {settings_wal}; "
        f"{' and '.join(map(_images, observed.images))}"
    )
    if observed.through:
        acts = "acts" if len(observed.through) == 1 else "act"
        sentence += (
            f"; {' and '.join(observed.through)} {acts} through these: the figure is of that "
            "distance"
        )
    return sentence


def _distance(distance: seen.Distance) -> tuple[str, str]:
    every = format_duration(round(distance.seconds * NS_PER_S))
    return every, format_bytes(round(distance.wal_bytes))


def _images(images: seen.Images) -> str:
    return (
        f"{format_digits(images.per_transaction, 2)} full-page images a transaction of "
        f"{images.arm}, up to {100 * images.share_of_wal:.0f} % of its WAL"
    )


TEXTS: Texts = {seen.CheckpointsNearer: _nearer}
