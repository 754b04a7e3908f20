"""The replays of recorded weighings, and the negative controls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.reproductions.reproduction import machines_words
from validation.cases.controls import CONTROLS
from validation.cases.controls import WEIGHINGS as CONTROL_WEIGHINGS
from validation.cases.replay import EPOCHS, SCHEMES, WEIGHINGS
from validation.cases.simulation import QUESTIONS, Tally, cell, tallies
from validation.cases.virtual import Question
from validation.pages.shares import (
    AT_MARGIN,
    BOUND,
    ZERO,
    detected,
    equivalent,
    false_alarms,
    missed,
    worst,
)
from validation.pages.table import at_most, paragraph, percent, table
from validation.proportion import Proportion
from validation.results import Results
from validation.traces import Trace

Json = Mapping[str, Any]


def replay_section(results: Results, traces: Sequence[Trace]) -> str:
    """What weighings cut out of the traces said."""
    head = "## Replays of recorded weighings"
    if not traces:
        return f"{head}\n\nNot yet measured: no weighing was recorded."
    there = {
        (result["placement"], result["scheme"], result["epochs"]): result for result in results
    }
    parts = [head, paragraph(_words(traces, list(results))).strip()]
    for placement in sorted({trace.placement for trace in traces}):
        parts += [f"### Placement {placement}", _table(placement, there)]
    return "\n\n".join(parts)


def _words(traces: Sequence[Trace], results: Sequence[Json]) -> str:
    parts = [
        f"{sum(1 for trace in traces if trace.placement == placement)} with {placement} placement "
        f"({sum(len(trace.epochs) for trace in traces if trace.placement == placement)} epochs)"
        for placement in sorted({trace.placement for trace in traces})
    ]
    machines = {json.dumps(trace.head["machine"], sort_keys=True) for trace in traces}
    schemes = "; ".join(f"*{name}*: {description}" for name, description in SCHEMES.items())
    code = results[0]["code"] if results else "–"
    return f"""
        Weighings of equal arms on real servers (`steelyard weigh aa --budget 30s`, select-only, 8
        clients) are kept slice by slice in `validation/traces/`: {", ".join(parts)}, on
        {machines_words(map(json.loads, sorted(machines)))}. From them
        {WEIGHINGS:,} virtual weighings a row are cut and judged as above. {schemes}. Effects are
        added to d. Given the traces the virtual weighings are independent; the intervals say how
        well the share on *these* traces is known. Code and traces: {code}.

        Because arms are drawn anew, false alarms cannot depend on the traces: these columns test
        the code, and that real noise does not break it. What the traces tell is how epochs scatter,
        what is seen and in how many epochs. What would be tied to an arm is invisible here; only
        live weighings of equal arms can show it (below).
    """


def _table(placement: str, there: Mapping[tuple[str, str, int], Json]) -> str:
    rows = []
    for scheme in SCHEMES:
        for epochs in EPOCHS:
            result = there.get((placement, scheme, epochs))
            if result is None or not result["cells"]:
                why = "not yet replayed" if result is None else "too few traces yet"
                rows.append([scheme, str(epochs), why, *["–"] * 7])
                continue
            rows.append(_row(scheme, epochs, result))
    return table(
        [
            "cut",
            "N",
            "sd of an epoch, %",
            "false alarms, first verdict, %",
            "truth missed, worst, %",
            "“equivalent” at ±δ, worst, %",
            "equal arms “equivalent”, δ 1 %",
            "−1 % seen",
            "−3 % seen",
            "epochs at −3 %",
        ],
        rows,
    )


def _row(scheme: str, epochs: int, result: Json) -> list[str]:
    by_cell = tallies(result["cells"])

    def tally(question: Question, rule: str = "plan") -> Tally:
        return by_cell[cell(rule, question)]

    slow = tally(Question(-0.03))
    return [
        scheme,
        str(epochs),
        f"{result['epoch_sd_percent']:.2f}",
        at_most(false_alarms(tally(ZERO, "first verdict")), BOUND),
        at_most(worst(missed(tally(question)) for question in QUESTIONS), BOUND),
        at_most(worst(equivalent(tally(question)) for question in AT_MARGIN), BOUND),
        percent(equivalent(tally(ZERO))),
        percent(detected(tally(Question(-0.01)))),
        percent(detected(slow)),
        f"{slow.epochs / slow.weighings:.1f}",
    ]


def control_section(results: Results) -> str:
    """What must fail, and whether it does."""
    there = {result["control"]: result for result in results}
    rows = []
    for control in CONTROLS:
        result = there.get(control.name)
        if result is None or not result["weighings"]:
            why = "not yet done" if result is None else "no such traces"
            rows.append([control.title, why, control.expected, "–", "–"])
            continue
        erred = Proportion(result["erred"], result["weighings"])
        reads = result["reads"]
        rows.append([
            control.title,
            str(erred),
            control.expected,
            "–" if reads is None else f"{100 * _change(reads):+.2f} %",
            _fails(erred, must=control.must_fail),
        ])  # fmt: skip
    text = f"""
        Ways to judge that METHODOLOGY.md rejects, on the same worlds and traces,
        {CONTROL_WEIGHINGS:,} weighings each. A validation in which nothing can fail proves nothing:
        these must. The column *expected* holds what earlier simulations and other traces gave. An
        arm that stalls loses 4.76 %; *reads* is what the reading makes of it on average.
    """
    head = ["what is done wrong", "errs, % [95 % interval]", "expected", "reads", ""]
    return "\n\n".join(["## Negative controls", paragraph(text), table(head, rows)])


def _fails(erred: Proportion, *, must: bool) -> str:
    outcome = "fails" if erred.exceeds(BOUND) else "does not fail"
    return outcome if must else f"{outcome}; need not"


def must_fail(name: str) -> bool:
    """Whether the control of that name must fail."""
    return any(control.must_fail for control in CONTROLS if control.name == name)


def _change(log_ratio: float) -> float:
    from math import expm1

    return expm1(log_ratio)


def failing(results: Iterable[Json]) -> int:
    """How many of the controls that were done err beyond the bound."""
    return sum(
        Proportion(result["erred"], result["weighings"]).exceeds(BOUND)
        for result in results
        if result["weighings"]
    )
