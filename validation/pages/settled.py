"""The simulated pilots: how often a load is said not to settle, and what is left of its warm-up."""

from __future__ import annotations

from validation.cases.settling import PARTS, PILOTS_A_PART, RULES, SettlingTally, cases
from validation.pages.table import at_most, paragraph, table
from validation.proportion import Proportion
from validation.results import Results
from validation.worlds.loads import (
    BLOCK_RHO,
    BLOCK_S,
    BLOCK_SD,
    BLOCKS,
    LOADS,
    MACHINE_RHO,
    MACHINE_SD,
    Load,
)

MOST_UNSETTLED = 0.02
"""Of the pilots of a steady load on a machine that stands still."""
_WORDS = """
    A pilot watches two arms for {blocks} blocks of {block_s:g} s. Their log throughputs scatter by
    {block_sd:g} % (correlation {block_rho:g}); a machine that wanders moves both by
    {machine_sd:g} % besides (correlation {machine_rho:g}). {pilots:,} pilots a load, seeds from
    the keys `settling/LOAD/PART`. *Line*: what weighings in slices do, the best cut of the first
    half and a line through what follows it; *MSER-5 alone*: the best of all cuts, which turns ask
    again every second. *Not settled*: said of either arm; of the first load at most {most:g} % may
    be. *Left*: the share of throughput that is missing, on average, in what is measured after the
    warm-up, in both arms alike. Code version {code}.{missing}
"""


def section(results: Results) -> str:
    """The section on pilots."""
    head = "## Simulated pilots: when a load has settled"
    tallies: dict[tuple[str, str], SettlingTally] = {}
    codes, parts = set[str](), 0
    for result in results:
        for rule, tally in result["rules"].items():
            cell = (result["load"], rule)
            tallies[cell] = tallies.get(cell, SettlingTally()) + SettlingTally(**tally)
        codes.add(result["code"])
        parts += 1
    if not parts:
        return f"{head}\n\nNot yet simulated."
    expected = sum(1 for _ in cases())
    text = _WORDS.format(
        blocks=BLOCKS,
        block_s=BLOCK_S,
        block_sd=100 * BLOCK_SD,
        block_rho=BLOCK_RHO,
        machine_sd=100 * MACHINE_SD,
        machine_rho=MACHINE_RHO,
        pilots=PARTS * PILOTS_A_PART,
        most=100 * MOST_UNSETTLED,
        code=", ".join(sorted(codes)),
        missing="" if parts == expected else f" **Done so far: {parts} of {expected} parts.**",
    )
    columns = [f"{what}: {rule}" for what in ("not settled, %", "warm-up, s", "left, %")
               for rule in RULES]  # fmt: skip
    rows = [
        _row(load, [tallies.get((load.name, rule), SettlingTally()) for rule in RULES])
        for load in LOADS
    ]
    return "\n\n".join([head, paragraph(text).strip(), table(["load", *columns], rows)])


def _row(load: Load, tallies: list[SettlingTally]) -> list[str]:
    line, *others = [Proportion(tally.unsettled, tally.pilots) for tally in tallies]
    bounded = load.steady and not load.machine
    return [
        load.name,
        at_most(line, MOST_UNSETTLED if bounded else 1.0),
        *(at_most(other, 1.0) for other in others),
        *(f"{tally.warmup_s / tally.pilots:.1f}" if tally.pilots else "–" for tally in tallies),
        *(_left(load, tally) for tally in tallies),
    ]


def _left(load: Load, tally: SettlingTally) -> str:
    if not tally.pilots or not load.slower:
        return "–"
    return f"{100 * tally.left / tally.pilots:.1f}"
