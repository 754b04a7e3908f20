"""How often `steelyard judge` errs where chance did not draw the order of the rows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

from validation.cases.foreign_rates import (
    APART,
    CELLS,
    DRAWN,
    PAIRED,
    SEQUENTIAL,
    SERIES,
    SWEEP,
    Counts,
)
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, percent, table
from validation.proportion import Proportion
from validation.results import Results

Cell = tuple[str, str, int]
"""How arms were measured, kind of rows, number of rows."""
Share = Callable[[Counts], str]
HELD = ("independent", "AR(1) .3", "AR(1) .5", "AR(1) .7")
"""Kinds of rows for which the bound is promised."""
WIDTH = 104
"""Of a line of METHODOLOGY.md."""
_WORDS = """
    Two equal arms, {times:,} comparisons a cell, by the product's own replicates, sets and rule
    (`validation/cases/foreign_rates.py`; METHODOLOGY.md, section 10). A row of one arm scatters by
    3 %; δ is .1 %, so that no verdict is “equivalent” before it could err. The bound, 5 % of all
    comparisons, is promised for rows whose neighbours correlate by up to .7. It is not promised for
    what lasts longer (AR(1) .9; half of the variance an AR(1) .95), which no method can tell from
    an effect in so few rows. A bound on all comparisons is none on those that carry a verdict:
    where rows do depend few carry one, and more of these are false. Both are shown.
"""
_APART_WORDS = """
    Rows whose order chance drew need no widening. Rows apart are two lists; *one arm after the
    other* is one course of time cut in the middle, judged with all threats. The last two go through
    the readers too: tables with the seconds of one run an arm, whose levels lie 1.5 % apart by
    chance; and tables of a sweep in which one arm has numbers of clients that the other lacks.
"""


def section(results: Results) -> str:
    """The section on numbers from elsewhere."""
    there = _cells(results)
    head = "## Numbers from elsewhere"
    if not there:
        return f"{head}\n\nNot yet simulated."
    code = next(result["code"] for result in results)
    text = _WORDS.format(times=CELLS[PAIRED][2])
    return "\n\n".join([
        head,
        paragraph(text).strip() + f" Code version {code}.",
        "### Paired rows, in time, sharing storms: false “slower” and “faster”",
        _by_rows("% of all comparisons [95 % interval]", there, _false),
        "### Comparisons that carried a verdict, and false ones among these",
        _by_rows("% that carried one (% of them false)", there, _of_those),
        "### An arm one sd of a row above the other is seen",
        _by_rows("% of all comparisons", there, _detected),
        "### Other ways to measure",
        paragraph(_APART_WORDS).strip(),
        _others(there),
    ])  # fmt: skip


def summary(results: Results) -> str:
    """The worst share of false verdicts among those that are promised, in a sentence."""
    shares = [
        (_wrong(Counts(**result["counts"])), result["kind"], result["rows"])
        for result in results
        if result["measured"] == PAIRED and result["kind"] in HELD
    ]
    if not shares:
        return "`steelyard judge`: not yet done."
    worst, kind, rows = max(shares, key=lambda case: case[0].value)
    beyond = sum(share.exceeds(BOUND) for share, _, _ in shares)
    return (
        f"`steelyard judge`, rows whose neighbours correlate by 0 to .7: false verdicts at their "
        f"worst in {worst} % of comparisons ({kind}, {rows} rows); beyond 5 %: {beyond} of "
        f"{len(shares)} cases."
    )


def digest(results: Results) -> str:
    """The figures that METHODOLOGY.md quotes, indented as its list is."""
    there = _cells(results)

    def verdict_shares(kind: str, n: int) -> tuple[str, str]:
        counts = there[PAIRED, kind, n]
        return percent(_carried(counts)), percent(_false_of(counts))

    rows = []
    for n in (8, 10, 20, 30, 40):
        false = [f"{100 * _wrong(there[PAIRED, kind, n]).value:.1f}" for kind in HELD]
        carried, _ = verdict_shares(HELD[0], n)
        rows.append([str(n), *false, carried, _detected(there[PAIRED, HELD[0], n])])
    heads = ["φ = 0", "φ = .3", "φ = .5", "φ = .7", "carry a verdict, φ = 0", "1 sd seen, φ = 0"]
    lasting = "half white, half AR(1) .95"
    ten, thirty = verdict_shares("AR(1) .5", 10), verdict_shares("AR(1) .7", 30)
    slow = [percent(_wrong(there[PAIRED, lasting, n])) for n in (10, 30)]
    text = paragraph(f"""
        Two things it does not do. It bounds the false verdicts among *all* comparisons, not among
        those that carry one: 10 rows at φ = .5 carry one in {ten[0]} %, and of these {ten[1]} % are
        false; 30 rows at φ = .7 carry one in {thirty[0]} %, and {thirty[1]} % are false. And it
        knows only what lasts a few rows: where half of the variance is an AR(1) of .95, {slow[0]} %
        of 10 rows and {slow[1]} % of 30 rows are false verdicts. What lasts as long as all rows
        cannot be told from an effect by any arithmetic, only by drawing the order.
    """).strip()
    lines = [*table(["rows", *heads], rows).splitlines(), "", *textwrap.wrap(text, WIDTH)]
    return "".join(f"  {line}".rstrip() + "\n" for line in lines)


def _by_rows(head: str, there: Mapping[Cell, Counts], share: Share) -> str:
    kinds, numbers, _ = CELLS[PAIRED]
    rows = [
        [kind, *(_cell(there.get((PAIRED, kind, n)), share) for n in numbers)] for kind in kinds
    ]
    return table([head, *(f"{n} rows" for n in numbers)], rows)


def _others(there: Mapping[Cell, Counts]) -> str:
    rows = []
    for measured in (DRAWN, APART, SEQUENTIAL, SERIES, SWEEP):
        kinds, numbers, _ = CELLS[measured]
        for kind in kinds:
            for n in numbers:
                counts = there.get((measured, kind, n))
                power = "–" if measured == SEQUENTIAL else _cell(counts, _detected)
                shares = [_cell(counts, share) for share in (_false, _of_those)]
                rows.append([measured, kind, str(n), *shares, power])
    head = ["measured", "kind", "rows", "false, % [95 % interval]", "verdicts, % (false)", "seen"]
    return table(head, rows)


def _cells(results: Results) -> dict[Cell, Counts]:
    return {
        (result["measured"], result["kind"], result["rows"]): Counts(**result["counts"])
        for result in results
    }


def _cell(counts: Counts | None, share: Share) -> str:
    return "not yet done" if counts is None else share(counts)


def _wrong(counts: Counts) -> Proportion:
    return Proportion(counts.different, counts.comparisons)


def _carried(counts: Counts) -> Proportion:
    """Comparisons that carried a verdict."""
    return Proportion(counts.comparisons - counts.withheld, counts.comparisons)


def _false_of(counts: Counts) -> Proportion:
    """False verdicts among those that were given."""
    return Proportion(counts.different, counts.comparisons - counts.withheld)


def _false(counts: Counts) -> str:
    return at_most(_wrong(counts), BOUND)


def _of_those(counts: Counts) -> str:
    return f"{percent(_carried(counts))} ({percent(_false_of(counts))})"


def _detected(counts: Counts) -> str:
    return percent(Proportion(counts.seen, counts.comparisons))
