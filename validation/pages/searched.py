"""How often a search names the place that changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, percent, table
from validation.proportion import Proportion
from validation.results import Results

Json = Mapping[str, Any]
_WORDS = """
    `steelyard history bisect` on simulated rows in which one place changed the answer: log
    throughputs of an arm's epochs scatter by 1 %, independently. *Luck*: the sd of places that
    nothing changed, as of builds that differ in nothing but their layout; then more than one
    place changes the answer, and the error rate is no promise any more. *Right*: the place itself.
    *Wrong*: another one, or a range that does not hold it; at most 5 % may be. *Narrowed*: a range
    that holds it. *Not searched*: the ends were alike within ±1 %, or not told apart.
"""


def section(results: Results) -> str:
    """The section on searches."""
    head = ["change", "places", "luck", "searches", "right", "wrong", "narrowed", "not searched",
            "weighings"]  # fmt: skip
    parts = ["## Searches for the place that changed", paragraph(_WORDS).strip()]
    return "\n\n".join([*parts, table(head, [_row(result) for result in results])])


def _row(result: Json) -> list[str]:
    trials = result["searches"]
    wrong = Proportion(result["wrong"] + result["narrowed wrongly"], trials)
    return [
        f"{result['effect_percent']:g} %",
        str(result["places"]),
        f"{result['luck_percent']:g} %",
        str(trials),
        percent(Proportion(result["right"], trials)),
        at_most(wrong, BOUND) if result["luck_percent"] == 0 else str(wrong),
        percent(Proportion(result["narrowed"], trials)),
        percent(Proportion(result["not searched"], trials)),
        f"{result['weighings']:.1f}",
    ]
