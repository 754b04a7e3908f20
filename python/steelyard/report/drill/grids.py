"""Arranges a drill's crash and consequence results as grids, for text and page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]
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
