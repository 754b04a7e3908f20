"""The verdict as a function of the record: pure, the same in the weighing and years later; and how
a recorded one differs from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.calibration import Trust, trust
from steelyard.evaluation.causes import cause_rows, complete, page_cost
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.devices import device_summary
from steelyard.evaluation.factor_effects import factor_effects
from steelyard.evaluation.judging import judge, judge_pairs, withdrawn
from steelyard.evaluation.layouts import judging_of
from steelyard.evaluation.mean_times import script_times, statement_rows
from steelyard.evaluation.plans.flips import Timed, flipped
from steelyard.evaluation.rates import capacities, costs
from steelyard.evaluation.threats.work import standby_lags
from steelyard.evaluation.transaction.time_parts import time_breakdown
from steelyard.evaluation.truths import Weighed, compute_truth
from steelyard.evaluation.workload_rows import (
    latency_rows,
    lateness,
    probe_rows,
    query_rows,
    script_rows,
    statement_cost_rows,
    work_rows,
)
from steelyard.model.errors import RecordError
from steelyard.model.identity import product_name
from steelyard.model.readings import EpochTotals
from steelyard.record.contrast import ContrastLine, WithdrawnThreat, median_throughput
from steelyard.record.environment import SourceFacts
from steelyard.record.epoch import EndLine, Epoch
from steelyard.record.factors import FactorEffects
from steelyard.record.frozen import Frozen
from steelyard.record.reader import RecordContents
from steelyard.record.spent import Spent
from steelyard.record.verdict import Differences, Pages, Place, TrustLine, Verdict
from steelyard.study.study import Study
from steelyard.verdict.contrast_line import line_of
from steelyard.wording.bottleneck import with_bottlenecks
from steelyard.wording.contrast_text import with_sentences
from steelyard.wording.factor_sentences import sentences as factor_sentences
from steelyard.wording.threats.threat import threat_of
from steelyard.wording.verdict_sentence import sentence_of

MOST_LOST_IN_A_ROW = 3
Value = object
TOLERANCE = 1e-9
"""Relative difference of two numbers that another machine's arithmetic may make."""
NOT_COMPARED = ("record",)
"""Where the record lies is not a part of what it says."""


def rejudge(recorded: RecordContents) -> Verdict:
    """The verdict of a weighing that has ended; RecordError for one that has not."""
    if recorded.end is None:
        raise RecordError(
            f'weighing has not ended yet: "{recorded.directory}"',
            hint="steelyard weigh --resume goes on with it.",
        )
    end, study, plan = recorded.end, recorded.study, recorded.plan
    control, arms = study.control.name, [arm.name for arm in study.arms]
    ended = end.interrupted or hopeless(recorded.epochs)
    contrasts, pairs = judge(recorded, ended=ended), list(judge_pairs(recorded, ended=ended))
    totals = complete([epoch.totals for epoch in recorded.epochs])
    times = with_bottlenecks(time_breakdown(totals, control, arms, recorded.environment.probe))
    costs = [row for arm in arms for row in statement_cost_rows(totals, control, arm)]
    queries = [row for arm in arms for row in query_rows(totals, control, arm)]
    within, margin = (recorded.inspection, control), study.decision.margin
    statements = [row for arm in arms for row in statement_rows(totals, *within, arm, margin)]
    scripts = [row for arm in arms for row in script_times(totals, *within, arm, margin)]
    timed = Timed(totals, statements, queries, scripts)
    plans = [row for arm in arms for row in flipped(recorded.inspection, control, arm, timed)]
    devices = device_summary(totals, plan, recorded.environment.disk, arms)
    factors = _factors(recorded, contrasts)
    judged = [*contrasts, *(contrast for _, contrast in pairs)]
    sentences = map(sentence_of, judged) if factors is None else factors.sentences
    spent = Spent.of(recorded.spent)
    cycles = judging_of(plan).cycles([epoch.totals for epoch in recorded.epochs], plan, arms)
    return Verdict.model_validate(
        {
            "study": study.name,
            "seed": plan.seed,
            "record": recorded.directory,
            "seconds": end.seconds,
            "whole_seconds": end.whole_seconds,
            "placement": plan.placement,
            **({"layout": plan.layout} if plan.layout else {}),
            **{name: getattr(cycles, name) for name in cycles.model_fields_set},
            **_paced(study, totals),
            **_rates(recorded, contrasts),
            "sentence": ". ".join(sentences),
            **({"factors": factors} if factors is not None else {}),
            "contrasts": [_line(recorded, contrast, totals) for contrast in contrasts],
            **({"pairs": [_line(*pair, totals) for pair in pairs]} if pairs else {}),
            "causes": [row for arm in arms for row in cause_rows(totals, control, arm)],
            "latency": [row for arm in arms for row in latency_rows(totals, control, arm)],
            "latency_by_script": [row for arm in arms for row in script_rows(totals, control, arm)],
            "queries": queries,
            "statements": statements,
            **({"statement_costs": costs} if costs else {}),
            **({"plans": plans} if plans else {}),
            **({"scripts": scripts} if scripts else {}),
            "place": _place(recorded),
            "work": [row for arm in arms for row in work_rows(totals, control, arm)],
            **({"devices": devices} if devices is not None else {}),
            **_standbys(totals, [control, *arms]),
            "probes": probe_rows(totals, [control, *arms]),
            "pages": _pages(study, totals),
            **({"time": times} if times else {}),
            "differences": _differences(recorded, arms),
            "defaults": plan.defaults,
            "loads": plan.loads,
            "measured_seconds": _measured_seconds(recorded.epochs),
            "slices": _slices(recorded.epochs),
            **({} if spent is None else {"spent": spent}),
            "resumed": end.resumed,
            "interrupted": end.interrupted,
            "command": plan.command,
            "trust": _trust(study, contrasts, end),
            "ledger": end.ledger,
        }
    )


def _factors(
    recorded: RecordContents, contrasts: Sequence[WeighedContrast]
) -> FactorEffects | None:
    """The effects of a factorial with their sentences."""
    effects, plan = factor_effects(recorded, contrasts), recorded.plan.factors
    if effects is None or plan is None:
        return None
    threats = [threat for contrast in contrasts for threat in contrast.threats]
    invalid = tuple(dict.fromkeys(threat.name for threat in threats if threat.invalidates))
    return effects.model_copy(update={"sentences": factor_sentences(effects, plan, invalid)})


def _paced(study: Study, epochs: Sequence[EpochTotals]) -> dict[str, object]:
    """How the arms kept up with given arrivals; nothing where there were none."""
    pace = study.workload.pace
    if pace is None:
        return {}
    names = [arm.name for arm in study.every_arm]
    return {"pace": pace, "lateness": [lateness(epochs, name) for name in names]}


def _standbys(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> dict[str, object]:
    """How far behind standbys were; nothing where no arm has any."""
    lags = standby_lags(epochs, arms)
    return {"standbys": lags} if lags else {}


def _rates(recorded: RecordContents, contrasts: Sequence[WeighedContrast]) -> dict[str, object]:
    """What each arm carried where rates were searched, and what its transactions cost where the
    study has prices."""
    names = [arm.name for arm in recorded.study.every_arm]
    totals = [epoch.totals for epoch in recorded.epochs]
    rows = {
        "capacity": capacities(totals, recorded.plan, names),
        "costs": with_sentences(costs(recorded.study, contrasts)),
    }
    return {name: table for name, table in rows.items() if table}


def hopeless(epochs: Sequence[Epoch]) -> bool:
    """Three lost epochs in a row: what keeps killing an arm will go on doing so."""
    last = epochs[-MOST_LOST_IN_A_ROW:]
    enough = len(last) == MOST_LOST_IN_A_ROW
    return enough and all(epoch.totals.outcome != "complete" for epoch in last)


def _line(
    recorded: RecordContents, contrast: WeighedContrast, totals: Sequence[EpochTotals]
) -> ContrastLine:
    """A contrast with its truth beside it where that is known, and the threats that were
    withdrawn."""
    [arm] = [arm for arm in recorded.study.arms if arm.name == contrast.arm]
    line = line_of(contrast)
    known_truth = compute_truth(Weighed(recorded.study, recorded.plan, totals), arm, line)
    truth = (
        {}
        if known_truth is None
        else {name: getattr(known_truth, name) for name in known_truth.model_fields_set}
    )
    rates = {
        key: median_throughput(line.details, name)
        for key, name in (("control_throughput", line.control), ("arm_throughput", line.arm))
    }
    return line.model_copy(update={**truth, **rates, "withdrawn": _withdrawn(recorded, contrast)})


def _withdrawn(recorded: RecordContents, contrast: WeighedContrast) -> tuple[WithdrawnThreat, ...]:
    """As they were last shown, and why they went."""
    every = len(recorded.epochs)
    return tuple(
        WithdrawnThreat(
            name=last.observation.name,
            seen=threat_of(last.observation).seen,
            why=f"last seen after {last.epochs} of {every} epochs; all of them together do not "
            "show it",
        )
        for last in withdrawn(recorded, contrast)
    )


def _place(recorded: RecordContents) -> Place:
    environment, workload = recorded.environment, recorded.study.workload
    source, machine = environment.source, environment.machine
    products = [product(facts.build) for facts in environment.arms.values()]
    return Place(
        processors=len(machine.allowed_processors) or machine.processors or 0,
        processor=machine.processor,
        memory_bytes=machine.memory_bytes,
        products=tuple(dict.fromkeys(name for name in products if name)),
        workload=workload.name,
        scale=None if source is not None or recorded.study.is_external else workload.scale,
        clients=recorded.plan.clients,
        data="" if source is None else _data(source),
        data_bytes=None if source is None else source.database_bytes,
    )


def _data(source: SourceFacts) -> str:
    return ", ".join(filter(None, (f'{source.kind} "{source.name}"', source.of_database)))


def product(build: Mapping[str, str | int | bool]) -> str:
    """`"PostgreSQL 18.4"` of a build's own facts; empty where it does not say."""
    return product_name(str(build.get("kind", "")), str(build.get("version", "")))


def _trust(study: Study, contrasts: Sequence[WeighedContrast], end: EndLine) -> list[TrustLine]:
    """What equal arms show of this machine: how long a weighing of two arms takes to detect 1, 2
    and 5 %.

    An epoch of two arms takes its part of the time of one with all arms.
    """
    equals = {arm.name for arm in study.equals}
    equal = next((contrast for contrast in contrasts if contrast.arm in equals), None)
    measured = end.epoch - end.began
    if equal is None or measured <= 0:
        return []
    d = np.array([np.nan if x is None else x for x in equal.details.d], dtype=float)
    seconds = end.seconds / measured * 2 / len(study.every_arm)
    return [_trust_line(row) for row in trust(d, seconds)]


def _trust_line(trust: Trust) -> TrustLine:
    least, likely, most = trust.seconds or (None, None, None)
    return TrustLine(
        percent=round(100 * trust.size, 3),
        epochs=(trust.need.fewest, trust.need.likely, trust.need.most),
        seconds=likely and round(likely, 1),
        least_seconds=least and round(least, 1),
        most_seconds=round(most, 1) if most and np.isfinite(most) else None,
    )


def _pages(study: Study, totals: Sequence[EpochTotals]) -> Pages | None:
    """For the first arm that differs from the control in checksums."""
    for arm in study.arms:
        if arm.checksums != study.control.checksums:
            pair = (arm.name, study.control.name)
            verifying, other = pair if arm.checksums else pair[::-1]
            return page_cost(totals, verifying, other)
    return None


def _differences(recorded: RecordContents, arms: Sequence[str]) -> Differences:
    inspection = recorded.inspection
    every = [inspection.arms[arm].differences for arm in arms if arm in inspection.arms]
    return Differences(
        compared=inspection.compared,
        declared=tuple(each for differences in every for each in differences.declared),
        derived=tuple(each for differences in every for each in differences.derived),
        undeclared=tuple(each for differences in every for each in differences.undeclared),
    )


def _measured_seconds(epochs: Sequence[Epoch]) -> float:
    """Loaded time of all arms together, debt included."""
    totals = [arm for epoch in epochs for arm in epoch.totals.arms.values()]
    return round(sum(arm.busy_ns / arm.clients for arm in totals if arm.clients) / 1e9, 3)


def _slices(epochs: Sequence[Epoch]) -> int:
    return sum(len(arm.slices) for epoch in epochs for arm in epoch.totals.arms.values())


@dataclass(frozen=True)
class VerdictDifference:
    """One key on which two verdicts differ."""

    key: str
    recorded: Value
    rejudged: Value


def differences(recorded: Frozen, rejudged: Frozen) -> list[VerdictDifference]:
    """Where they differ, of what the recorded one says: what later versions say besides is none,
    nor is the order of statements, which earlier versions did not sort."""
    return list(_between("", recorded.to_json(), rejudged.to_json()))


def _between(key: str, ours: Value, theirs: Value) -> Iterator[VerdictDifference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if key or name not in NOT_COMPARED:
                yield from _between(f"{key}.{name}" if key else name, value, theirs.get(name))
    elif (rows := _by_statement(ours)) and (others := _by_statement(theirs)):
        yield from _between(key, rows, others)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, both in enumerate(zip(ours, theirs, strict=True)):
            yield from _between(f"{key}[{index}]", *both)
    elif not _same(ours, theirs):
        yield VerdictDifference(key, ours, theirs)


def _by_statement(rows: Value) -> dict[str, Value]:
    """Rows of statements by arm and statement; empty: they are none."""
    if not isinstance(rows, list) or not rows:
        return {}
    by_name: dict[str, Value] = {
        f"{row['arm']} {row['statement']}": row
        for row in rows
        if isinstance(row, dict) and "statement" in row and "arm" in row
    }
    return by_name if len(by_name) == len(rows) else {}


def _same(ours: Value, theirs: Value) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return ours == theirs
