"""Says in which arms reads still fell, and what that moves."""

from __future__ import annotations

from steelyard.evaluation.threats import pool_warmth as seen
from steelyard.model.units import format_digits
from steelyard.wording.threats.advice import Texts


def _not_warm(observed: seen.PoolNotWarm) -> str:
    return " and ".join(map(_fall, observed.falls)) + _moved(observed.moved)


def _fall(fall: seen.ReadsFell) -> str:
    fell = f"blocks read per transaction of {fall.arm} fell from"
    if fall.level is None:
        first, last = _apart(fall.first, fall.last)
        return f"{fell} {first} to {last} from the first half of a turn to the second"
    first, last, level = _apart(fall.first, fall.last, fall.level)
    return f"{fell} {first} to {last} within the measured part of an epoch, towards {level}"


def _apart(*values: float) -> list[str]:
    """`["0.8", "0.38"]`: with as many digits as tell each from the others, at least two."""
    for digits in range(2, 7):
        texts = [format_digits(value, digits) for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _moved(moved: seen.ContrastMoved | None) -> str:
    if moved is None:
        return ""
    if moved.share is None:
        return "; what a read takes cannot be told from what else scatters"
    return f"; that moves the contrast by about {format_digits(100 * moved.share, 2)} %"


TEXTS: Texts = {seen.PoolNotWarm: _not_warm}
