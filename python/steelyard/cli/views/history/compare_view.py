"""Formats the comparison of two records for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from steelyard.cli.views.text_layout import broken
from steelyard.history.compare import ComparedPair, FactDifference, RecordComparison
from steelyard.history.entry import KnownScript
from steelyard.history.ratio import Refusal
from steelyard.model.errors import UsageError
from steelyard.model.files.shortened import apart
from steelyard.wording.contrast_text import reading_text

_LONGEST = 60
_INDENT = " " * 8


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
