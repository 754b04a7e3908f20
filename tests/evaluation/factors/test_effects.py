"""The intervals of all effects hold together, whatever the noise of the cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.evaluation.factor_effects import joint_effects
from steelyard.study.factors import factorial
from thinned import thinned

LEVELS = {"a": ("low", "high"), "b": ("cold", "hot"), "c": ("dry", "wet"), "d": ("day", "night")}
EPOCHS, WEIGHINGS = 10, 600
Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(draw: np.random.Generator, size: tuple[int, int]) -> Floats:
    return draw.normal(size=size)


def slow_restarts(draw: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Now and then a start is unlucky, in any cell alike: skewed."""
    return -draw.exponential(size=size)


def heavy_tails(draw: np.random.Generator, size: tuple[int, int]) -> Floats:
    return draw.standard_t(3, size=size)


@thinned("noise", [normal, slow_restarts, heavy_tails], 1)
@pytest.mark.parametrize(("factors", "fraction"), [(2, "full"), (3, "full"), (4, "half")])
def test_all_effects_hold_together_in_19_of_20_factorials(
    noise: Noise, factors: int, fraction: str
) -> None:
    """Simulated, 600 a case, with a drift of the machine that all cells share; 5 standard errors
    above 5 %."""
    laid = factorial(dict(list(LEVELS.items())[:factors]), "half" if fraction == "half" else "full")
    arms = [cell.arm for cell in laid.cells]
    draw, missed = np.random.default_rng(factors), {"effects": 0, "simple": 0}
    truth = draw.normal(size=len(arms))
    families = {
        "effects": [one.weights for one in laid.effects],
        "simple": [one.weights for one in laid.simple_effects],
    }
    true = {
        name: [sum(one[arm] * y for arm, y in zip(arms, truth, strict=True)) for one in weights]
        for name, weights in families.items()
    }
    for _ in range(WEIGHINGS):
        drift = 5 * draw.normal(size=(EPOCHS, 1))
        logs = truth + drift + noise(draw, (EPOCHS, len(arms)))
        for name, weights in families.items():
            results = joint_effects(logs - logs[:, :1], arms, weights)
            ends = [one.interval for one in results]
            missed[name] += any(x not in one for x, one in zip(true[name], ends, strict=True))
    for count in missed.values():
        assert count / WEIGHINGS < 0.05 + 5 * (0.05 * 0.95 / WEIGHINGS) ** 0.5
        assert count > 5  # intervals that never miss say nothing


def test_an_effect_is_the_weighted_mean_of_its_cells_over_epochs() -> None:
    laid = factorial({"a": ("low", "high"), "b": ("cold", "hot")}, "full")
    arms = [cell.arm for cell in laid.cells]
    logs = np.random.default_rng(3).normal(size=(12, 4))
    for one, result in zip(
        laid.effects, joint_effects(logs, arms, [e.weights for e in laid.effects]), strict=True
    ):
        wanted = sum(one.weights[arm] * logs[:, n].mean() for n, arm in enumerate(arms))
        assert result.value == pytest.approx(wanted)
        assert result.interval.low < wanted < result.interval.high


def test_the_control_may_be_any_constant() -> None:
    """Contrasts add up to 0: what is subtracted from every cell of an epoch is in none of them."""
    laid = factorial({"a": ("low", "high"), "b": ("cold", "hot")}, "full")
    arms, weights = [cell.arm for cell in laid.cells], [one.weights for one in laid.effects]
    logs = np.random.default_rng(4).normal(size=(10, 4))
    shifted = logs + np.arange(10.0)[:, None]
    for one, other in zip(
        joint_effects(logs, arms, weights), joint_effects(shifted, arms, weights), strict=True
    ):
        assert one.value == pytest.approx(other.value)
        assert one.interval.low == pytest.approx(other.interval.low)


def test_one_epoch_tells_nothing() -> None:
    laid = factorial({"a": ("low", "high"), "b": ("cold", "hot")}, "full")
    arms, weights = [cell.arm for cell in laid.cells], [one.weights for one in laid.effects]
    for one in joint_effects(np.zeros((1, 4)), arms, weights):
        assert one.interval.low == -np.inf
        assert one.interval.high == np.inf
