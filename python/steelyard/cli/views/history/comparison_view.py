"""Formats records beside each other for a terminal: the comparison of two, a trend with every step
in words, a question as many hosts answer it, and the ranking of machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from steelyard.cli.views.history.list_view import reading_words
from steelyard.cli.views.text_layout import broken
from steelyard.fleet.hosts import Across
from steelyard.fleet.machine_words import (
    alone_words,
    cost_text,
    currencies_text,
    place_text,
    throughput_text,
)
from steelyard.fleet.machines import Ranked, WhichMachine
from steelyard.history.compare import ComparedPair, FactDifference, RecordComparison
from steelyard.history.entry import KnownScript
from steelyard.history.ratio import Refusal
from steelyard.history.trend import QuestionTrend
from steelyard.model.errors import UsageError
from steelyard.model.files.printable import apart
from steelyard.model.units import counted, format_reading
from steelyard.report.charts.scale import known_ends
from steelyard.wording.contrast_text import reading_text

_LONGEST = 60
_INDENT = " " * 8
_FEWEST_COLUMNS = 16
_MOST_NAMES = 3
_MOST_PERCENT = 400.0
"""What lies further out is drawn at the end of the scale, where it takes the others no room."""


def comparison_lines(compared: RecordComparison, width: int) -> Iterator[str]:
    """Both verdicts, their ratio, what differs, and how much is the same."""
    yield f"first   {compared.first.path}"
    yield f"second  {compared.second.path}"
    for pair in compared.pairs:
        yield ""
        yield from _pair_lines(pair, width)
    if not compared.pairs:
        yield ""
        yield "no verdict in one of them: nothing is compared but what was asked"
    yield ""
    yield from _differences("differs", compared.different)
    yield from _differences("settings as the servers reported them", compared.settings)
    yield f"the same in both: {len(compared.same)} facts"


def _pair_lines(pair: ComparedPair, width: int) -> Iterator[str]:
    for name, point in (("first", pair.first), ("second", pair.second)):
        doubts = point.reading.doubts
        line = f"{name:<6}  {point.reading.verdict}: {_without_verdict(point.reading.sentence)}"
        yield from broken(line, width, others=_INDENT)
        if doubts:
            yield from broken(f"doubts: {', '.join(doubts)}", width, _INDENT, _INDENT)
    if not pair.same_question:
        yield "        these answer two questions"
    if isinstance(pair.ratio, Refusal):
        yield from _wrapped("no ratio of the two:", pair.ratio.reasons, width)
    else:
        yield from broken(
            f"ratio   {pair.ratio.sentence} ({100 * pair.ratio.confidence:.0f} % interval)",
            width,
            others=_INDENT,
        )
        yield from _wrapped("", pair.ratio.cautions, width)
    yield from _script_lines(pair)


def _script_lines(pair: ComparedPair) -> Iterator[str]:
    """A row a script of either mix, with its change in both records; the worst of the second
    first."""
    first, second = (
        {row.script: row for row in point.reading.scripts} for point in (pair.first, pair.second)
    )
    names = sorted({**second, **first}, key=lambda name: -_highest(second.get(name)))
    if not names:
        return
    rows = [("by script", "first", "second")]
    rows += [(name, _change(first.get(name)), _change(second.get(name))) for name in names]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, ours, theirs in rows:
        yield f"{name:<{wide[0]}}  {ours:<{wide[1]}}  {theirs}"


def _change(row: KnownScript | None) -> str:
    return "–" if row is None else reading_text(row)


def _highest(row: KnownScript | None) -> float:
    """The highest change that is possible; unknown is the highest of all."""
    if row is None:
        return -math.inf
    return math.inf if row.high_percent is None else row.high_percent


def _without_verdict(sentence: str) -> str:
    head, colon, rest = sentence.partition(": ")
    return rest if colon and head in ("inconclusive", "invalid") else sentence


def _wrapped(head: str, sentences: Sequence[str], width: int) -> Iterator[str]:
    if head:
        yield head
    for sentence in sentences:
        yield from broken(sentence, width, "  - ", " " * 4)


def _differences(head: str, rows: Sequence[FactDifference]) -> Iterator[str]:
    if not rows:
        return
    yield head
    reach = max(len(row.what) for row in rows)
    for row in rows:
        first, second = apart([row.first or "–", row.second or "–"], _LONGEST)
        yield f"  {row.what:<{reach}}  {first}  →  {second}"


def require_two(records: Sequence[str]) -> tuple[str, str]:
    """The two that are to be compared; UsageError for another number."""
    if len(records) != 2:
        raise UsageError(f"two records are compared: {len(records)} were named")
    return records[0], records[1]


def trend_lines(trend: QuestionTrend, width: int) -> Iterator[str]:
    """The printed lines of a trend."""
    yield from broken(f"{trend.question.label} on {trend.machine}", width)
    yield from _trend_rows(trend, width)
    yield ""
    yield from broken(trend.sentence, width)
    for step in trend.steps:
        yield f"a step is no verdict; this settles it: {step.settled_by}"
    for record, why in trend.left_out:
        yield from broken(f"left out: {record}: {why}", width, others="  ")
    if others := trend.other_machines:
        weighings = counted(sum(others.values()), "weighings")
        names = "; ".join([*others][:_MOST_NAMES]) + ("; …" if len(others) > _MOST_NAMES else "")
        text = f"on {counted(len(others), 'other machines')}, not here: {weighings}"
        yield from broken(f"{text} (--machine names one: {names})", width, others="  ")


def _trend_rows(trend: QuestionTrend, width: int) -> Iterator[str]:
    readings = [(point.place, point.point.reading) for point in trend.points]
    if not readings:
        return
    ends = known_ends(reading for _, reading in readings)
    margins = [reading.margin_percent for _, reading in readings]
    reach = min(max([*(abs(end) for end in ends), *margins, 0.1]), _MOST_PERCENT)
    texts = [reading_words(reading) for _, reading in readings]
    place_width = max(len(place) for place, _ in readings)
    columns = max(width - place_width - max(map(len, texts)) - 4, _FEWEST_COLUMNS)
    starts = [step.after for step in trend.steps]
    for row, (place, reading), text in zip(trend.points, readings, texts, strict=True):
        if row in starts:
            yield "-" * min(width, place_width + columns + 4)
        drawn = _drawn(
            (reading.low_percent, reading.estimate_percent, reading.high_percent), reach, columns
        )
        yield f"{place:<{place_width}}  {drawn}  {text}"


def _drawn(ends: tuple[float | None, float | None, float | None], reach: float, wide: int) -> str:
    """One interval as characters, zero in the middle: `   ├──●──┤ │    `."""
    low, middle, high = ends

    def at(value: float) -> int:
        return round((min(max(value / reach, -1), 1) + 1) / 2 * (wide - 1))

    row = [" "] * wide
    row[at(0)] = "│"
    if middle is not None:
        left, right = at(-reach if low is None else low), at(reach if high is None else high)
        row[left : right + 1] = "─" * (right - left + 1)
        row[left], row[right] = (
            ("├" if low is not None else "─"),
            ("┤" if high is not None else "─"),
        )
        row[at(middle)] = "●"
    return "".join(row)


def fleet_lines(answers: Sequence[Across]) -> Iterator[str]:
    """A question, its hosts, and the sentence; then what is left out."""
    for answer in answers:
        if not answer.hosts:
            continue
        yield answer.title
        for host in answer.hosts:
            read = host.point.reading
            interval = format_reading(read.estimate_percent, read.low_percent, read.high_percent)
            yield f"  {read.verdict:<12}  {interval:<28}  {host.machine}"
        yield f"  {answer.sentence}"
        yield ""
    for host, why in (left for answer in answers for left in answer.left_out):
        yield f"left out: {host.point.entry.path}: {why}"


def machine_lines(ranking: WhichMachine) -> Iterator[str]:
    """Each group with several machines, by throughput and by cost; then what is not compared."""
    several = [row for row in ranking.groups if len(row.by_throughput) > 1]
    for group in several:
        yield f"{group.metric}: {group.words}"
        yield "  by transactions a second"
        yield from _rank_rows(group.by_throughput, throughput_text)
        if group.by_cost:
            yield "  by the cost of a million transactions"
            yield from _rank_rows(group.by_cost, cost_text)
        if currencies := currencies_text(group):
            yield f"  {currencies}"
        if group.without_price:
            yield f"  without a price, in no ranking by cost: {', '.join(group.without_price)}"
        yield ""
    alone = [row for row in ranking.groups if len(row.by_throughput) == 1]
    for group in alone:
        yield f"not compared: {alone_words(group, several[0] if several else None)}"
    for record, why in ranking.left_out:
        yield f"left out: {record}: {why}"


def _rank_rows(ranked: Sequence[Ranked], text: Callable[[Ranked], str]) -> Iterator[str]:
    for place, row in enumerate(ranked):
        kind = f" ({row.machine.kind})" if row.machine.kind else ""
        doubts = f"; doubts: {', '.join(row.machine.doubts)}" if row.machine.doubts else ""
        yield f"  {place + 1}. {text(row):<30}  {place_text(row, place)}"
        yield f"     {row.machine.name}{kind}{doubts}"
