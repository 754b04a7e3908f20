"""Lists the suites of `make validate`: their cases, their results, and the code that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from steelyard.analysis import (
    e_process,
    epoch_reading,
    equivalence,
    estimate,
    looks,
    sets,
    sign_flip,
)
from steelyard.study.plan import balanced_orders, first_look
from steelyard.verdict import rule
from validation import case, simulation, virtual
from validation.case import Case
from validation.fingerprint import fingerprint
from validation.results import FOLDER, Results
from validation.worlds import (
    atlas,
    autoregression,
    bench,
    errors,
    lives,
    machine,
    restarts,
    slots,
    stalls,
    trends,
    variances,
    white,
    world,
)

JUDGING: tuple[Any, ...] = (
    *(sign_flip, sets, looks, e_process, equivalence, estimate),
    *(rule.decide, rule._may_end, rule._plan_is_over),
    *(epoch_reading.epoch_log_ratio, epoch_reading._log_ratio),
    *(balanced_orders, first_look, virtual, case),
)
"""What judges: the product's own code and what hands it the epochs."""
WORLDS: tuple[ModuleType, ...] = (
    *(atlas, autoregression, bench, errors, lives, machine, restarts, slots, stalls, trends),
    *(variances, white, world),
)


@dataclass(frozen=True)
class Suite:
    """A part of the validation."""

    name: str
    cases: Callable[[], Iterable[Case]]
    parts: tuple[Any, ...]
    """Code on which the results depend."""

    @property
    def results(self) -> Results:
        """Where its results lie."""
        return Results(FOLDER / f"{self.name}.jsonl")

    @property
    def code(self) -> str:
        """The version of the code that made, or would make, the results."""
        return fingerprint(self.parts)


SUITES = (Suite("simulation", simulation.cases, (*JUDGING, *WORLDS, simulation)),)
