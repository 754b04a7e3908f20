"""Arranges the results of a drill as tables and grids, for text and page alike, and writes them as
one self-contained HTML page.
"""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import RecordError
from steelyard.model.files.own_directory import write_named

Facts = Mapping[str, Any]
Counts = dict[tuple[str, str], tuple[int, int]]
Interval = Callable[[int, int], tuple[float, float]]
"""Of the share that a count is of another, as fractions."""
COLUMNS = (
    ("query: error", "off", "error,off"),
    ("query: wrong answer", "off", "wrong,off"),
    ("query: nobody", "off", "none,off"),
    ("query: error", "on", "error,on"),
    ("query: wrong answer", "on", "wrong,on"),
    ("query: hangs", "on", "hangs,on"),
    ("server log", "on", "log,on"),
    ("query: nobody", "on", "none,on"),
    ("query: error", "ignore", "error,ign"),
    ("query: wrong answer", "ignore", "wrong,ign"),
    ("page checksum", "on", "checksum"),
    ("header sanity", "on", "header"),
    ("pg_checksums", "on", "pg_chk"),
    ("pg_basebackup", "on", "backup"),
    ("pg_verifybackup", "on", "verify"),
    ("amcheck", "off", "amcheck"),
    ("scrub", "on", "scrub"),
    ("catalogue", "on", "catal."),
    ("a reader who knows every row", "on", "reader"),
)
"""(check, arm, title) of each column of the matrix."""
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steelyard drill</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 96rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff }}
pre {{ font: 13px/1.45 ui-monospace, monospace; overflow-x: auto }}
p {{ max-width: 60rem; font-size: 1.15rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: 0.9rem }}
th, td {{ padding: 0.2rem 0.5rem; text-align: right; border: 1px solid #8884 }}
th:first-child {{ text-align: left; white-space: nowrap }}
.all {{ background: #2a9d5c55 }} .some {{ background: #e0a52e55 }} .none {{ background: #d1495b44 }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e6e6e6; background: #161616 }} }}
</style>
<h1>What checksums catch</h1>
<p>{sentence}</p>
{tables}
<pre tabindex="0" role="region" aria-label="The rest of the commands">{rest}</pre>
</html>
"""
NEVER, UNREACHED = "never", "not reached"
_RECOVERY = (
    ("no start", "no start"),
    ("query: error", "error"),
    ("query: wrong answer", "wrong answer"),
    ("query: hangs", "hangs"),
    ("query: nobody", "every row right"),
    ("scrub", "scrub: damaged"),
    ("scrub: needs replay", "scrub: replay"),
)
"""(check, title): the last two by a scrub before the start."""


@dataclass(frozen=True)
class GridCell:
    """What stands in a field, and how sure it is."""

    text: str
    interval: str = ""  # "83, 100": in the text, where it fits
    kind: str = ""  # "all", "some", "none": how much of it was noticed
    tip: str = ""  # where one points at it in the page

    def __str__(self) -> str:
        return f"{self.text} [{self.interval}]" if self.interval else self.text


@dataclass(frozen=True)
class Grid:
    """Columns with their titles, and rows with their labels."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[GridCell, ...]], ...]


def recovery_grid(cells: Sequence[Facts]) -> Grid:
    """How often each noticed what a crash left, in percent."""
    by_check = {(c["fault"], c["place"], c["arm"], c["check"]): c for c in cells}
    rows = []
    for case in dict.fromkeys((c["fault"], c["place"], c["arm"]) for c in cells):
        fault, place, arm = case
        times = max(c["times"] for key, c in by_check.items() if key[:3] == case)
        shares = tuple(_share(by_check.get((*case, check))) for check, _ in _RECOVERY)
        rows.append((f"{fault}, {place}, {arm}: {times} times", shares))
    return Grid(
        "Crash recovery, pg_xact and the log",
        "noticed of 100 [95 %]; the log and pg_xact have no page checksum, so that "
        "ignore_checksum_failure changes nothing there: it was not asked",
        tuple(title for _, title in _RECOVERY),
        tuple(rows),
    )


def consequence_grids(consequences: Sequence[Facts], rates: Sequence[Facts]) -> list[Grid]:
    """What everybody met at every moment, and when each noticed first."""
    if not consequences:
        return []
    cases = list(dict.fromkeys((rate["fault"], rate["arm"]) for rate in rates))
    by_moment = {(r["fault"], r["arm"], r["who"], r["when"]): r for r in rates}
    moments = tuple(dict.fromkeys((rate["who"], rate["when"]) for rate in rates))
    times = max((rate["times"] for rate in rates), default=0)
    sure = max(rate["low"] for rate in rates)  # of what was seen every time
    note = (
        f"a damaged heap page, {times} times; silent: the damage was handed on without a word; "
        "sound: what was written; at once: nobody has read the page; every time means "
        f"{100 * sure:.0f} to 100 of 100, at 95 %"
    )
    grids: list[Grid] = []
    for fault in dict.fromkeys(fault for fault, _ in cases):
        arms = [arm for of, arm in cases if of == fault]
        lines = tuple(
            (
                " ".join(moment),
                tuple(_rate_cell(by_moment.get((fault, arm, *moment))) for arm in arms),
            )
            for moment in moments
        )
        grids.append(
            Grid(f"What everybody met: {fault}", "" if grids else note, tuple(arms), lines)
        )
    parties = tuple(dict.fromkeys(who for who, _ in moments))
    first = tuple(
        (f"{fault}, {arm}", tuple(_first(consequences, fault, arm, who) for who in parties))
        for fault, arm in cases
    )
    return [*grids, Grid("When each noticed first", "", parties, first)]


def noticed_of_100(noticed: int, times: int) -> str:
    """`"83"`; 100 is all of them and 0 none, what rounds to either otherwise `">99"` and `"<1"`."""
    text = f"{100 * noticed / times:.0f}"
    if text == "0" and noticed:
        return "<1"
    return ">99" if text == "100" and noticed < times else text


def text_of(grid: Grid) -> list[str]:
    """The grid in lines of even width, intervals beside their rates."""
    rows = [(label, [str(cell) for cell in cells]) for label, cells in grid.rows]
    label_width = max((len(label) for label, _ in rows), default=0)
    widths = [
        max(len(part) for part in (title, *(texts[n] for _, texts in rows)))
        for n, title in enumerate(grid.columns)
    ]
    return [
        grid.title + (f" ({grid.note})" if grid.note else "") + ":",
        *(_line(label, label_width, texts, widths) for label, texts in [("", grid.columns), *rows]),
    ]


def _line(label: str, width: int, texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = "".join(f"  {text:>{w}}" for text, w in zip(texts, widths, strict=True))
    return f"{label.ljust(width)}{cells}".rstrip()


def _share(cell: Facts | None) -> GridCell:
    if cell is None or not cell["times"]:
        return GridCell("-")
    low, high = 100 * cell["low"], 100 * cell["high"]
    share = noticed_of_100(cell["noticed"], cell["times"])
    return GridCell(share, f"{low:.0f}, {high:.0f}", _kind(cell), _tip(cell))


def _rate_cell(rate: Facts | None) -> GridCell:
    if rate is None:
        return GridCell("-")
    return GridCell(_counted(rate["saw"]), kind=_kind(rate), tip=_tip(rate))


def _first(consequences: Sequence[Facts], fault: str, arm: str, who: str) -> GridCell:
    whens = Counter(
        each["noticed"][who]
        for each in consequences
        if (each["fault"], each["arm"]) == (fault, arm) and who in each["noticed"]
    )
    if not whens:
        return GridCell("-")
    reached = set(whens) - {UNREACHED}
    kind = (
        ""
        if not reached
        else "none"
        if reached == {NEVER}
        else "some"
        if NEVER in reached
        else "all"
    )
    return GridCell(_counted(whens), kind=kind)


def _counted(counts: Mapping[str, int]) -> str:
    """The word that all had, or each with how many had it."""
    if len(counts) == 1:
        return next(iter(counts))
    return " / ".join(f"{word} {count}" for word, count in sorted(counts.items()))


def _kind(rate: Facts) -> str:
    noticed, times = rate["noticed"], rate["times"]
    return "all" if noticed == times else "some" if noticed else "none"


def _tip(rate: Facts) -> str:
    noticed, times, low, high = (rate[name] for name in ("noticed", "times", "low", "high"))
    return f"noticed {noticed} of {times}: {100 * low:.0f} to {100 * high:.0f} % at 95 %"


def table(cells: Iterable[Facts]) -> dict[str, Counts]:
    """Counts by fault and (check, arm), added up over everything else."""
    rows: dict[str, Counts] = defaultdict(dict)
    for cell in cells:
        key = (cell["check"], cell["arm"])
        noticed, times = rows[cell["fault"]].get(key, (0, 0))
        rows[cell["fault"]][key] = (noticed + cell["noticed"], times + cell["times"])
    return rows


def ways(arm: str) -> tuple[tuple[str, str, str], ...]:
    """(check, arm, title) of what each way of asking came to under an arm."""
    queries = (
        ("table", "table"),
        ("index", "index"),
        ("index alone", "alone"),
        ("insert", "insert"),
    )
    kinds = (("error", "err"), ("wrong answer", "wrong"), ("hangs", "hang"))
    return tuple(
        (f"{way}: {kind}", arm, f"{title}:{short}")
        for way, title in queries
        for kind, short in kinds
    )


def write_page(text: str, facts: Facts, path: Path, interval: Interval) -> None:
    """Write the page; the text's first line is the sentence. RecordError: it cannot be written."""
    sentence, _, rest = text.partition("\n")
    cells = facts.get("files", [])
    tables = _matrix(table(cells), interval) if cells else ""
    tables += "".join(map(_grid, grids(facts)))
    page = _PAGE.format(
        sentence=html.escape(sentence), tables=tables, rest=html.escape(rest.strip("\n"))
    )
    try:
        write_named(path, page)
    except OSError as error:
        raise RecordError(f'could not write "{path}": {error.strerror}') from error


def grids(facts: Facts) -> list[Grid]:
    """What is no matrix of fault by check: consequences, and crashes."""
    crashes = facts.get("recovery", [])
    consequences, rates = facts.get("consequences", []), facts.get("consequence_rates", [])
    return [*consequence_grids(consequences, rates), *([recovery_grid(crashes)] if crashes else [])]


def _grid(grid: Grid) -> str:
    """A grid as a table; where one points at a cell, its rate with the interval."""
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in grid.columns)
    body = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th>'
        + "".join(
            f'<td class="{cell.kind}" title="{html.escape(cell.tip)}">{html.escape(cell.text)}</td>'
            for cell in cells
        )
        + "</tr>\n"
        for label, cells in grid.rows
    )
    note = f"<p>{html.escape(grid.note)}</p>\n" if grid.note else ""
    return (
        f"<h2>{html.escape(grid.title)}</h2>\n{note}"
        f'<div class="wide"><table>\n<tr><th></th>{head}</tr>\n{body}</table></div>\n'
    )


def _matrix(rows: Mapping[str, Counts], interval: Interval) -> str:
    """Fault by check: percent noticed, with the counts where one points at it."""
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for _, _, title in COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{html.escape(fault)}</th>'
        + "".join(_cell(counts.get((check, arm)), interval) for check, arm, _ in COLUMNS)
        + "</tr>\n"
        for fault, counts in rows.items()
    )
    return (
        "<h2>Whole servers, all places together</h2>\n"
        "<p>Noticed, in percent; off, on, ign: checksums off, on, "
        "ignore_checksum_failure; none: nobody. One copy may count as an error and a wrong "
        "answer.</p>\n"
        f'<div class="wide"><table>\n<tr><th></th>{head}</tr>\n{body}</table></div>'
    )


def _cell(counts: tuple[int, int] | None, interval: Interval) -> str:
    if counts is None or not counts[1]:
        return "<td>–</td>"
    noticed, times = counts
    kind = "all" if noticed == times else "some" if noticed else "none"
    low, high = (100 * share for share in interval(noticed, times))
    title = f"{noticed} of {times}: {low:.0f} to {high:.0f} % at 95 %"
    share = html.escape(noticed_of_100(noticed, times))
    return f'<td class="{kind}" title="{title}">{share}</td>'
