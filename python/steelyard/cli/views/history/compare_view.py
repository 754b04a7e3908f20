"""Formats the comparison of two records for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from steelyard.history.compare import ComparedPair, FactDifference, RecordComparison
from steelyard.history.entry import KnownScript
from steelyard.history.ratio import Refusal
from steelyard.model.errors import UsageError
from steelyard.wording.contrast_text import reading_text

_LONGEST = 60


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
        yield from textwrap.wrap(line, width, subsequent_indent=" " * 8)
        if doubts:
            yield from textwrap.wrap(
                f"doubts: {', '.join(doubts)}", width, initial_indent=" " * 8,
                subsequent_indent=" " * 8,
            )  # fmt: skip
    if not pair.same_question:
        yield "        these answer two questions"
    if isinstance(pair.ratio, Refusal):
        yield from _wrapped("no ratio of the two:", pair.ratio.reasons, width)
    else:
        yield from textwrap.wrap(
            f"ratio   {pair.ratio.sentence} ({100 * pair.ratio.confidence:.0f} % interval)",
            width,
            subsequent_indent=" " * 8,
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
        yield from textwrap.wrap(sentence, width, initial_indent="  - ", subsequent_indent=" " * 4)


def _differences(head: str, rows: Sequence[FactDifference]) -> Iterator[str]:
    if not rows:
        return
    yield head
    reach = max(len(row.what) for row in rows)
    for row in rows:
        yield f"  {row.what:<{reach}}  {_short(row.first)}  →  {_short(row.second)}"


def _short(value: str) -> str:
    if not value:
        return "–"
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"


def require_two(records: Sequence[str]) -> tuple[str, str]:
    """The two that are to be compared; UsageError for another number."""
    if len(records) != 2:
        raise UsageError(f"two records are compared: {len(records)} were named")
    return records[0], records[1]
