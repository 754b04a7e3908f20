"""Holds how a study is answered: what it decides by, in which words, and the groups that built-in
studies are listed by; says with what a rate or a price cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from steelyard.model.latency_goal import ACCEPTED, LatencyGoal, goal_of, higher_is_better
from steelyard.model.price import parse_price
from steelyard.study.address import WHOLE_CYCLES
from steelyard.study.values import Share, StudyModel

GROUPS = {
    "yours": "two settings, versions, builds or servers of yours",
    "pages": "PostgreSQL: pages, checksums, memory and reads",
    "log": "PostgreSQL: commits and the write-ahead log",
    "queries": "PostgreSQL: tables, queries and vacuum",
    "sessions": "PostgreSQL: connecting and watching",
    "tuning": "PostgreSQL: profiles of settings",
    "others": "MySQL, MariaDB and SQL Server",
    "balance": "the balance itself",
}
"""Groups of built-in studies, with their titles, in the order in which they are listed."""
Group = Literal["yours", "pages", "log", "queries", "sessions", "tuning", "others", "balance"]
METRICS = ("throughput", "latency_mean", "geometric_mean")


class Answer(StudyModel):
    """The words in which a contrast answers its study's question: `data checksums cost 2.7 %`."""

    subject: str
    """What costs or gains; `{arm}` and `{control}` stand for their names."""
    plural: bool = False
    lacks: bool = False
    """Whether it is the arm that is without the subject, and the control that has it."""
    against: bool = False
    """Whether what it is compared with is said too."""
    reads: bool = False
    """Whether the subject is what is compared, and the answer its reading: of equal arms, and of
    known weights."""

    @field_validator("subject")
    @classmethod
    def _fills(cls, subject: str) -> str:
        left = subject.replace("{arm}", "").replace("{control}", "").strip()
        if not subject.strip() or "{" in left or "}" in left:
            raise ValueError("accepted: words, {arm}, {control}")
        return subject


def metric_word(value: str) -> str:
    """A metric as it is kept: `rate at p99 <= 20ms` is "rate at p99 ≤ 20 ms"."""
    goal = goal_of(value)
    if goal is not None:
        return goal.metric
    if value not in METRICS:
        raise ValueError(f"accepted: {', '.join(METRICS)}, {ACCEPTED}")
    return value


class DecisionRule(StudyModel):
    """What is decided, on which metric, at which margin."""

    metric: Annotated[str, AfterValidator(metric_word)] = "throughput"
    """Or "latency_mean"; "geometric_mean": of the times that each block's slices took, every script
    weighted alike where it is a slice of its own, with counted slices only; "rate at p99 ≤ 20ms":
    the highest arrival rate at which that quantile of latency stays within the limit."""
    margin: Annotated[Share, Field(gt=0, lt=0.5)] = 0.01
    first_verdict: bool = False
    open_ended: bool = False
    judged: Literal["jointly", "separately"] = "jointly"
    """Where there are several arms. Jointly: the first decides and may end the weighing early, the
    others are secondary. Separately: each by its own set, once, when the plan has been measured."""

    @property
    def goal(self) -> LatencyGoal | None:
        """The limit of latency that rates are searched at; None: another metric decides."""
        return goal_of(self.metric)

    @model_validator(mode="after")
    def _one_end(self) -> DecisionRule:
        if self.judged == "separately" and (self.first_verdict or self.open_ended):
            raise ValueError("arms judged separately are judged once: at the end of the plan")
        return self


def require_searchable(
    metric: str, *, layout: str, cut: bool, paced: bool, machines: int, background: bool
) -> None:
    """ValueError: what a rate is not searched with. `cut`: slices by executions, or scripts in
    order; `paced`: captured arrivals; `background`: a weight of such work."""
    setting = f'decision.metric = "{metric}"'
    if layout in WHOLE_CYCLES:
        raise ValueError(f'{setting} is searched in slices: leave out layout = "{layout}"')
    if cut:
        raise ValueError(
            f"{setting} is searched by time, and in no order of scripts: leave out budget.counted "
            "and workload.streams"
        )
    if paced:
        raise ValueError(f"{setting} sets the arrivals itself: leave out workload.pace")
    if machines > 1:
        raise ValueError(f"{setting} is searched by one load machine: workload.machines = 1")
    if background:
        raise ValueError(
            f"{setting} holds no work that is left to the background: leave out weight.background"
        )


def require_prices(prices: Mapping[str, str | None], metric: str, *, paced: bool) -> None:
    """ValueError: arm → price where some arm has none, in several currencies, or with a metric that
    counts no transactions per second."""
    missing = [name for name, price in prices.items() if price is None]
    if len(missing) == len(prices):
        return
    if missing:
        raise ValueError(
            f'arm "{missing[0]}" has no price: give every arm one, --set control.price=0.504/h '
            f"--set arm.{'NAME.' if len(prices) > 2 else ''}price=0.504/h; or one for all, "
            "--set price=0.504/h"
        )
    currencies = {parse_price(price).currency for price in prices.values() if price is not None}
    if len(currencies) > 1:
        names = ", ".join(sorted(name or "none" for name in currencies))
        raise ValueError(
            f"prices in several currencies ({names}) cannot be compared: give all in one"
        )
    if not higher_is_better(metric):
        raise ValueError(
            f'decision.metric = "{metric}" counts no transactions per second, which a price is of: '
            'leave out price, or decide by throughput or "rate at p99 ≤ 20ms"'
        )
    if paced:
        raise ValueError("workload.pace sets how many transactions there are: leave out price")
