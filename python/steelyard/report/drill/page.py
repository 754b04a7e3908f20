"""Writes the results of a drill as one self-contained HTML page."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.model.errors import RecordError
from steelyard.model.files.own_directory import write_named
from steelyard.report.drill.grids import Grid, consequence_grids, noticed_of_100, recovery_grid

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
