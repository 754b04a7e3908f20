"""Sums slices up into what `steelyard drive` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.model.errors import UsageError
from steelyard.model.secrets.redaction import redacted
from steelyard.model.units import NS_PER_S, NS_PER_US
from steelyard.record.slice import ScriptInSlice, TimedStatement


@dataclass(frozen=True)
class LatencySummary:
    """Mean, percentiles and maximum in µs; None where nothing was done."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None


QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class ScheduleLag:
    """How much later than intended transactions began, in µs."""

    mean: float | None
    max: float


@dataclass(frozen=True)
class CommandSummary:
    """A timed command over all slices."""

    line: int
    text: str
    executions: int
    mean_us: float | None
    failures: int
    retries: int


@dataclass(frozen=True)
class ScriptSummary:
    """One script over all slices."""

    name: str
    transactions: int
    latency_us: LatencySummary
    commands: tuple[CommandSummary, ...] = ()
    """Empty where commands are not timed."""


@dataclass(frozen=True)
class Summary:
    """Slices of one arm, summed up."""

    transactions: int
    seconds: float
    throughput: float
    """Transactions a second."""
    latency_us: LatencySummary
    errors: Mapping[str, int]
    """By SQLSTATE."""
    error_messages: Mapping[str, str]
    failed: int
    skipped: int
    unstarted: int
    over_latency_limit: int
    wrong_rows: int
    lost: int
    capped: int
    retried: int
    retries: int
    late_starts: int
    schedule_lag_us: ScheduleLag
    connections: int
    connection_us: float | None
    driver_cpu_us_per_transaction: float | None
    scripts: tuple[ScriptSummary, ...]
    debug: tuple[str, ...] = ()
    """What `debug()` printed."""
    aborted: str | None = None
    """Why the load was ended early; None: it was not."""

    def to_json(self) -> dict[str, Any]:
        """Its part of DESIGN's object for `drive --json`."""
        summary = {name: value for name, value in asdict(self).items() if name != "debug"}
        if self.aborted is None:
            del summary["aborted"]
        return summary


def latency_us(latencies: Sequence[str]) -> LatencySummary:
    """Mean, percentiles and maximum of encoded histograms."""
    quantiles = _core.histogram_quantiles(list(latencies), list(QUANTILES.values()))
    if quantiles["count"] == 0:
        return LatencySummary()
    summary_ns = {
        "mean": quantiles["mean_ns"],
        **dict(zip(QUANTILES, quantiles["values"], strict=True)),
    }
    summary_ns["max"] = quantiles["max_ns"]
    return LatencySummary(
        **{name: round(value / NS_PER_US, 3) for name, value in summary_ns.items()}
    )


def summarize(slices: Sequence[SliceAnswer]) -> Summary:
    """Slices of one arm, summed up.

    Throughput is clients × transactions ÷ Σ busy time, so that what began before the bell counts
    with its whole time.
    """
    errors: Counter[str] = Counter()
    messages: dict[str, str] = {}
    scripts: dict[str, list[ScriptInSlice]] = {}
    for answer in slices:
        errors.update(answer.errors)
        messages = {**answer.error_messages, **messages}
        for script in answer.scripts:
            scripts.setdefault(script.name, []).append(script)
    transactions = sum(answer.transactions for answer in slices)
    failed = sum(answer.failed for answer in slices)
    connections = sum(answer.connections for answer in slices)
    loaded_s = sum(answer.busy_ns / answer.clients for answer in slices) / NS_PER_S
    latency = latency_us([part.latency for parts in scripts.values() for part in parts])
    if transactions:
        # The exact mean; the histogram rounds to three digits.
        latency = replace(
            latency, mean=_mean_us([answer.latency_sum_ns for answer in slices], transactions)
        )
    return Summary(
        transactions=transactions,
        seconds=sum(answer.end_ns - answer.start_ns for answer in slices) / NS_PER_S,
        throughput=transactions / loaded_s if loaded_s else 0.0,
        latency_us=latency,
        errors=dict(errors),
        error_messages=messages,
        failed=failed,
        skipped=sum(answer.skipped for answer in slices),
        unstarted=sum(answer.unstarted for answer in slices),
        over_latency_limit=sum(answer.over_limit for answer in slices),
        wrong_rows=sum(answer.wrong_rows for answer in slices),
        lost=max((answer.lost for answer in slices), default=0),
        capped=sum(answer.capped for answer in slices),
        retried=sum(answer.retried for answer in slices),
        retries=sum(answer.retries for answer in slices),
        late_starts=sum(answer.late_starts for answer in slices),
        schedule_lag_us=ScheduleLag(
            mean=_mean_us([answer.lag_sum_ns for answer in slices], transactions + failed),
            max=max((answer.lag_max_ns for answer in slices), default=0) / NS_PER_US,
        ),
        connections=connections,
        connection_us=_mean_us([answer.connect_ns for answer in slices], connections),
        debug=tuple(line for answer in slices for line in answer.debug),
        aborted=next((answer.aborted for answer in slices if answer.aborted is not None), None),
        driver_cpu_us_per_transaction=_mean_us(
            [answer.driver_cpu_ns for answer in slices], transactions
        ),
        scripts=tuple(
            ScriptSummary(
                name=name,
                transactions=sum(part.transactions for part in parts),
                latency_us=latency_us([part.latency for part in parts]),
                commands=_commands(parts),
            )
            for name, parts in scripts.items()
        ),
    )


def _mean_us(spent_ns: Sequence[int], count: int) -> float | None:
    return round(sum(spent_ns) / count / NS_PER_US, 3) if count else None


def _commands(parts: Sequence[ScriptInSlice]) -> tuple[CommandSummary, ...]:
    """Timed commands of one script, over its slices; empty where nothing is timed."""
    timed = [part.commands for part in parts if part.commands]
    return tuple(_command(slices) for slices in zip(*timed, strict=True))


def _command(slices: Sequence[TimedStatement]) -> CommandSummary:
    executions = sum(statement.executions for statement in slices)
    return CommandSummary(
        line=slices[0].line,
        text=redacted(slices[0].text),
        executions=executions,
        mean_us=_mean_us([statement.sum_ns for statement in slices], executions),
        failures=sum(statement.failures for statement in slices),
        retries=sum(statement.retries for statement in slices),
    )


STEPS = 10
MOST_STEPS = 1000
BEHIND = 0.01
"""The share of a step's arrivals that may fail, be skipped, be cancelled at the cap, or find no
client before its end."""


def read_ramp(text: str) -> tuple[float, ...]:
    """Rates a second: `FROM:TO`, `FROM:TO:STEPS` (evenly spaced), or `R1,R2,…`. UsageError."""
    try:
        if ":" in text:
            ends, steps = text.split(":"), STEPS
            if len(ends) == 3:
                steps = int(ends.pop())
            first, last = map(float, ends)
            if not 2 <= steps <= MOST_STEPS:
                raise ValueError
            rates = [first + (last - first) * step / (steps - 1) for step in range(steps)]
        else:
            rates = [float(word) for word in text.split(",")]
    except ValueError:
        rates = []
    if not rates or len(rates) > MOST_STEPS or not all(0 < rate < float("inf") for rate in rates):
        raise UsageError(
            f'invalid ramp: "{text}"',
            hint=f"Accepted: FROM:TO ({STEPS} steps), FROM:TO:STEPS, or RATE,RATE,… (more than 0).",
        )
    return tuple(rates)


@dataclass(frozen=True)
class RampStep:
    """One rate of a ramp."""

    rate: float
    """Arrivals a second."""
    summary: Summary
    kept_up: bool

    def to_json(self) -> dict[str, Any]:
        """A step in DESIGN's object for `drive --json`."""
        summary = self.summary.to_json()
        return {"rate": self.rate, **{key: summary[key] for key in _OF_A_STEP}} | {
            "kept_up": self.kept_up
        }


_OF_A_STEP = (
    *("transactions", "seconds", "throughput", "latency_us", "schedule_lag_us"),
    *("late_starts", "skipped", "unstarted", "capped", "failed", "retries"),
)


@dataclass(frozen=True)
class Ramp:
    """Every step by itself, and the highest rate below which every step kept up."""

    steps: tuple[RampStep, ...]
    kept_up: float | None

    def to_json(self) -> dict[str, Any]:
        """The ramp in DESIGN's object for `drive --json`."""
        return {"steps": [step.to_json() for step in self.steps], "kept_up": self.kept_up}


def summarize_ramp(
    rates: Sequence[float], slices: Sequence[SliceAnswer], limit_ms: float | None
) -> Ramp:
    """The steps of a ramp, one slice each.

    A step keeps up when no more than BEHIND of its arrivals failed, were skipped, had not begun at
    its end or were not done at the cap and, with a latency limit, its 99th percentile stays within
    that. Each step drains before the next one, so that no step inherits a backlog.
    """
    steps = tuple(_step(rate, answer, limit_ms) for rate, answer in zip(rates, slices, strict=True))
    failing = min((step.rate for step in steps if not step.kept_up), default=float("inf"))
    sustained = [step.rate for step in steps if step.kept_up and step.rate < failing]
    return Ramp(steps, max(sustained, default=None))


def _step(rate: float, answer: SliceAnswer, limit_ms: float | None) -> RampStep:
    summary = summarize([answer])
    behind = summary.failed + summary.skipped + summary.unstarted + summary.capped
    arrivals = summary.transactions + behind
    p99_us = summary.latency_us.p99
    slow = limit_ms is not None and (p99_us is None or p99_us > limit_ms * 1000)
    return RampStep(rate, summary, arrivals > 0 and behind <= BEHIND * arrivals and not slow)
