"""Steelyard's rule beside those of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validation.cases.comparison import EFFECTS, RULES, TRACES, WEIGHINGS
from validation.cases.replay import placements
from validation.machines.simulated import WEATHERS
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, table
from validation.proportion import Proportion
from validation.results import Results

Json = Mapping[str, Any]

_WORDS = f"""
    Each rule measures in its own way on the same machines, {WEIGHINGS:,} times a cell, and says
    slower, faster, the same, or nothing. *False alarms*: slower or faster said of equal arms.
    *Seen*: an arm that is slower by so much called slower. *Wrong way*: called faster.
    *Minutes*: mean measuring time, without restarts. Simulated machines follow the rule's own
    schedule slice by slice; on traces, what was recorded is handed out in time order
    (`validation/machines/`). A run is 1.5 s of load on a server started for it, which is kind to
    rules that compare runs: luck of a start averages out.
"""


def section(results: Results) -> str:
    """The section on other tools' rules."""
    there = {
        (result["machine"], result["rule"], result["effect_percent"]): result for result in results
    }
    code = next((result["code"] for result in results), "–")
    parts = [
        "## Other tools' rules, side by side",
        paragraph(_WORDS) + f" Code and traces: {code}.",
    ]
    for weather in WEATHERS:
        parts += [f"### {weather.name[0].upper()}{weather.name[1:]}", f"{weather.words}."]
        parts.append(_table(weather.name, there))
    for placement in placements():
        parts += [f"### Recorded traces, placement {placement}", _table(TRACES + placement, there)]
    return "\n\n".join([*parts, "### Sources, and what was simplified", _sources()])


def _table(machine: str, there: Mapping[tuple[str, str, float], Json]) -> str:
    rows = []
    for rule in RULES:
        results = [there.get((machine, rule.name, 100 * effect)) for effect in EFFECTS]
        if any(result is None for result in results):
            rows.append([rule.name, "not yet done", *["–"] * 4])
            continue
        none, small, large = (result for result in results if result is not None)
        rows.append([
            rule.name,
            at_most(_share(none, "slower", "faster"), BOUND),
            _percent(_share(small, "slower")),
            _percent(_share(large, "slower")),
            _percent(_share(small, "faster")),
            f"{none['measured_seconds'] / 60:.2f} / {large['measured_seconds'] / 60:.2f}",
        ])  # fmt: skip
    return table(
        [
            "rule",
            "false alarms, % [95 % interval]",
            "−1 % seen, %",
            "−3 % seen, %",
            "−1 % the wrong way, %",
            "minutes at 0 / −3 %",
        ],
        rows,
    )


def _share(result: Json, *verdicts: str) -> Proportion:
    return Proportion(sum(result["said"][name] for name in verdicts), result["weighings"])


def _percent(share: Proportion) -> str:
    return f"{100 * share.value:.1f}"


def _sources() -> str:
    return table(
        ["rule", "source", "simplified"],
        [[rule.name, rule.source, rule.simplified] for rule in RULES],
    )
