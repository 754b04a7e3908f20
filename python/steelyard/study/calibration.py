"""Lays out a calibration: the study's control, its equals, and arms that carry known weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_MS, parse_percent
from steelyard.study.arm import Arm, Weight
from steelyard.study.study import Study

LIGHTEST, HEAVIEST = 0.005, 0.5
STALL_NS = 10 * NS_PER_MS
STALL_SHARE = 0.03
"""Stalls worth 3 % are 10 ms long: some hundred times a transaction in memory, so that they are
rare, and short enough for a weighing of minutes to see some dozens, since their number scatters
like √n and widens the interval. Heavier weights stall as often and longer, because a processor that
slept does its next work more slowly, which is no part of the weight (at most .3 ms, measured)."""
_ACCEPTED = "A weight is a share from 0.5% to 50%: --weight 3%"


@dataclass(frozen=True)
class Calibration:
    """The study of a calibration, and what was left out of it and why."""

    study: Study
    left_out: tuple[tuple[str, str], ...] = ()  # (what, why)


def parse_weight(text: str) -> float:
    """The share of `"3%"`; UsageError for anything that is no weight to calibrate with."""
    try:
        share = parse_percent(text)
    except ValueError as reason:
        raise UsageError(f'invalid weight: "{text}"', hint=f"{_ACCEPTED}.") from reason
    if not LIGHTEST <= share <= HEAVIEST:
        near = "light" if share < LIGHTEST else "heavy"
        raise UsageError(
            f'weight is too {near}: "{text}"',
            detail="Less than 0.5 % would take hours to read, more than 50 % proves nothing."
            if near == "light"
            else "Weights prove how small differences are read.",
            hint=f"{_ACCEPTED}.",
        )
    return share


def lay_out(study: Study, shares: Sequence[float], *, whole: bool) -> Calibration:
    """The study with an arm for every known weight, at the end of its equal ones.

    `shares`: those asked for; none: the study's own. `whole`: what is left to the background is
    charged, so that this is weighed too. Arms may differ from the control in nothing but weight.
    """
    _refuse_other_differences(study)
    unweighted = [arm for arm in study.arms if arm.weight.is_none]
    weighted = [arm for arm in study.arms if not arm.weight.is_none]
    if shares:
        weighted = [arm for share in dict.fromkeys(shares) for arm in _pair(study, share)]
    if whole:
        doubled = [arm.weight.double_work for arm in weighted if arm.weight.double_work]
        left = {arm.weight.background for arm in weighted}
        weighted += [_background(study, share) for share in doubled if share not in left]
    left_out = []
    if study.workload.clients > 1:
        stalled = [arm.name for arm in weighted if arm.weight.stalls]
        weighted = [arm for arm in weighted if not arm.weight.stalls]
        if stalled:
            left_out.append((", ".join(stalled), _WHY_NO_STALLS.format(study.workload.clients)))
    arms = (*unweighted, *weighted)
    if not arms:
        raise UsageError("nothing is left to calibrate with", detail=left_out[0][1] or None)
    return Calibration(_with_arms(study, arms), tuple(left_out))


_WHY_NO_STALLS = (
    "with {} clients the others use what a stalled one leaves free, "
    "so what a stall is worth is not known; with 1 client it is"
)


def _refuse_other_differences(study: Study) -> None:
    for arm in study.arms:
        if not study.differs_only_in_weight(arm):
            raise UsageError(
                f'cannot calibrate: arm "{arm.name}" differs from the control in more than weight',
                detail="What such an arm must read is not known.",
                hint="Change all arms alike: --set settings.NAME=VALUE, or use `steelyard weigh`.",
            )
    if not study.control.weight.is_none:
        raise UsageError("cannot calibrate: the control carries a weight")


def _pair(study: Study, share: float) -> Iterable[Arm]:
    yield _arm(study, "doubled", share, Weight(double_work=share))
    length_ns = round(STALL_NS * max(1.0, share / STALL_SHARE))
    yield _arm(study, "stalled", share, Weight(stall_share=share, stall_time=length_ns))


def _background(study: Study, share: float) -> Arm:
    return _arm(study, "background", share, Weight(background=share))


def _arm(study: Study, kind: str, share: float, weight: Weight) -> Arm:
    return study.control.model_copy(update={"name": f"{kind}-{100 * share:g}", "weight": weight})


def _with_arms(study: Study, arms: Sequence[Arm]) -> Study:
    """More arms than the study has get as much time each as its own did."""
    more = max(1.0, (1 + len(arms)) / len(study.every_arm))
    return study.model_copy(update={"arms": tuple(arms), "budget": study.budget.times(more)})
