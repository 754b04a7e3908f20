"""What drills on whole servers saw, fault by check: docs/results/drilled.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from steelyard.cli.views.drilled import WHY, undetected
from steelyard.integrity.drill.matrix import PLANTED, Rate, partly_planted
from steelyard.report.drill import Grid, consequence_grids, recovery_grid
from steelyard.report.drill import table as summed
from validation.pages import algorithms
from validation.pages.folded import WHOLE
from validation.pages.table import paragraph, table

Facts = Mapping[str, Any]
Column = tuple[str, str, str]
"""Title, check, arm."""
NOBODY, WRONG, SCRUB = "query: nobody", "query: wrong answer", "scrub"
_OUTCOMES = (
    ("error", "query: error"),
    ("wrong", WRONG),
    ("hangs", "query: hangs"),
    ("log", "server log"),
    ("nobody", NOBODY),
)
ASKED: tuple[Column, ...] = tuple(
    (f"{arm}: {title}", check, arm) for arm in ("off", "on", "ignore") for title, check in _OUTCOMES
)
"""How the queries that met the damage ended, by arm."""
CHECKED: tuple[Column, ...] = (
    *(
        (name, name, "on")
        for name in ("page checksum", "header sanity", "pg_checksums", "pg_basebackup")
    ),
    ("pg_verifybackup", "pg_verifybackup", "on"),
    ("amcheck, off", "amcheck", "off"),
    ("amcheck, on", "amcheck", "on"),
    ("scrub", "scrub", "on"),
    ("scrub, off", "scrub", "off"),
    ("catalogue", "catalogue", "on"),
    ("a reader", "a reader who knows every row", "on"),
)
"""Which check would have noticed."""
_HEAD = """
    This page is written by `python -m validation.drilled` from drills with default options,
    `steelyard drill`, whose parts may have run apart: nothing on it was typed. [The
    drill](../reference/drill.md) says how it is done, which checks are made, and what the words
    mean.

    A number is the percent of faults that were noticed, or that ended so. 0 and 100 stand without
    an interval: of {few} faults in one place 0 means 0 to {few_none:.0f}, of {all} in all places 0
    to {all_none:.1f}, and 100 accordingly (Clopper & Pearson 1934, 95 %). What lies between has its
    interval in the tables below; that of all places is of this mix of them. “–”: not checked, or
    not there. *Wrong answers* come without a message. *Undetected*: no query failed, hung or
    answered wrongly, and no line of the log names the file. One copy may end in an error and in a
    wrong answer, each in another query.
"""


def page(drills: Sequence[Facts], compared: Facts | None = None) -> str:
    """The whole page; `drills` as `steelyard drill --json` gave them, `compared` as `--algorithms`
    did.
    """
    few, every = drills[0]["copies"], _most(drills[0]["files"])
    head = _HEAD.format(
        few=few,
        all=every,
        few_none=100 * Rate(0, few).interval()[1],
        all_none=100 * Rate(0, every).interval()[1],
    )
    parts = ["# What checksums catch: the matrix", paragraph(head).strip()]
    parts += ["## In short", _short(drills[0])]
    for drill in drills:
        parts += _version(drill)
    if compared is not None:
        parts += algorithms.section(compared)
    return "\n\n".join(parts) + "\n"


def _short(facts: Facts) -> str:
    """Fault by what says most, of one version: in percent, without intervals."""
    matrix = _shown(facts["files"], _MOST_TELLING, lambda cell: (cell["fault"],), ("fault",))
    bare = re.sub(r" \[[^\]]*\]", "", matrix)
    return f"PostgreSQL {facts['version']}, all places together, percent:\n\n{WHOLE}{bare}"


_MOST_TELLING: tuple[Column, ...] = (
    ("no checksums: wrong answers", "query: wrong answer", "off"),
    ("no checksums: undetected", "query: nobody", "off"),
    ("checksums: error", "query: error", "on"),
    ("checksums: wrong answers", "query: wrong answer", "on"),
    ("checksums: undetected", "query: nobody", "on"),
    ("page checksum", "page checksum", "on"),
    ("amcheck", "amcheck", "on"),
    ("scrub", "scrub", "on"),
)
"""How queries ended with and without checksums, and which check would have noticed."""


def _version(facts: Facts) -> list[str]:
    cells = facts["files"]
    return [
        f"## PostgreSQL {facts['version']}",
        f"{facts['copies']} copies a fault, place and arm; seed {facts['seed']}.",
        "### How the queries ended, all places together",
        _shown(cells, ASKED, lambda cell: (cell["fault"],), ("fault",)),
        "### Which check would have noticed, all places together",
        _shown(cells, CHECKED, lambda cell: (cell["fault"],), ("fault",)),
        "### By place",
        _shown(
            cells,
            (*(c for c in ASKED if c[0] in _SHORT), *CHECKED),
            lambda cell: (cell["place"], cell["fault"]),
            ("place", "fault"),
        ),
        *_fewer(cells),
        "### What queries met without being told, checksums on",
        _unnoticed(cells),
        "### In memory: undetected of a million [95 %]",
        _pages(facts["pages"]),
        _grid(recovery_grid(facts["recovery"])),
        *map(_grid, consequence_grids(facts["consequences"], facts["consequence_rates"])),
    ]


_SHORT = ("off: wrong", "off: nobody", "on: error", "on: wrong", "on: nobody")


def _most(cells: Iterable[Facts]) -> int:
    """The most often that one fault was planted under one arm."""
    return max(
        times
        for counts in summed(cells).values()
        for (check, _), (_, times) in counts.items()
        if check != PLANTED
    )


def _shown(
    cells: Iterable[Facts],
    columns: Sequence[Column],
    row_of: Callable[[Facts], tuple[str, ...]],
    titles: Sequence[str],
) -> str:
    groups: dict[tuple[str, ...], list[Facts]] = defaultdict(list)
    for cell in cells:
        groups[row_of(cell)].append(cell)
    rows = []
    for row, group in groups.items():
        (counts,) = summed(group).values()  # a row is of one fault
        if any(times for (check, _), (_, times) in counts.items() if check != PLANTED):
            rates = (Rate(*counts.get((check, arm), (0, 0))) for _, check, arm in columns)
            rows.append([*row, *map(_rate_text, rates)])
    return table([*titles, *(title for title, _, _ in columns)], rows)


def _rate_text(rate: Rate) -> str:
    if not rate.times:
        return "–"
    if rate.noticed in (0, rate.times):
        return "0" if not rate.noticed else "100"
    low, high = rate.interval()
    return f"{100 * rate.noticed / rate.times:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def _fewer(cells: Iterable[Facts]) -> list[str]:
    few = [
        f"{cell['fault']} in {cell['place']} {cell['noticed']} of {cell['times']}"
        for cell in partly_planted(cells)
    ]
    sentence = "Planted in fewer copies, since in the others nothing would have changed"
    return [f"{sentence}: {', '.join(few)}."] if few else []


def _unnoticed(cells: Iterable[Facts]) -> str:
    """Where queries went on as if nothing were wrong, and whether the page would have told."""
    by_fault: dict[tuple[str, str], dict[str, Rate]] = defaultdict(dict)
    for cell in cells:
        if cell["arm"] == "on" and cell["check"] in (NOBODY, WRONG, SCRUB):
            rate = Rate(cell["noticed"], cell["times"])
            by_fault[cell["fault"], cell["place"]][cell["check"]] = rate
    rows = []
    for (fault, place), rates in by_fault.items():
        if rates[NOBODY].noticed or rates[WRONG].noticed:
            detected = rates[SCRUB].noticed == rates[SCRUB].times
            why = _UNREAD.get(place, _UNREAD_ELSE) if detected else WHY.get(fault, "")
            shares = (_rate_text(rates[check]) for check in (NOBODY, WRONG, SCRUB))
            rows.append([fault, place, *shares, why])
    return table(["fault", "place", "nobody", "wrong answer", "a scrub sees", "why"], rows)


_UNREAD = {
    "FSM": "the sum is wrong, and whoever reads the page hears of it: these queries found room "
    "without it",
    "VM": "the sum is wrong, and whoever reads the page hears of it: these queries did not",
}
_UNREAD_ELSE = "the sum is wrong, but these queries did not read the page"


def _pages(cells: Iterable[Facts]) -> str:
    by_fault: dict[str, dict[str, Facts]] = defaultdict(dict)
    for cell in cells:
        by_fault[cell["fault"]][cell["check"]] = cell
    checks = list(next(iter(by_fault.values())))
    return table(
        ["fault", *checks],
        [[fault, *(undetected(row[check]) for check in checks)] for fault, row in by_fault.items()],
    )


def _grid(grid: Grid) -> str:
    """A grid of the drill's own as a table under its title."""
    rows = [[label, *map(str, cells)] for label, cells in grid.rows]
    note = [f"{grid.note}."] if grid.note else []
    return "\n\n".join([f"### {grid.title}", *note, table(["", *grid.columns], rows)])
