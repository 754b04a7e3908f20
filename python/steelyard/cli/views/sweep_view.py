"""Formats a sweep for a terminal: its sentences, a beam a point, and where the records are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from steelyard.evaluation.sweep import reading
from steelyard.record.sweep import Swept, SweptContrast


def sweep_lines(swept: Swept, record: str, width: int) -> Iterator[str]:
    """The printed lines of a sweep."""
    yield ""
    for sentence in swept.sentences:
        yield from textwrap.wrap(f"{sentence} (joint 95 % intervals)", width)
    for arm in _arms(swept):
        yield ""
        yield from _table(swept, arm)
    for point in swept.points:
        if point.failed:
            yield f"{swept.key} = {point.value} could not be weighed: {point.failed}"
    yield ""
    yield f"record  {record}"
    yield f"report  {record}/report.html"
    if swept.command:
        yield f"repeat  {swept.command}"


def _arms(swept: Swept) -> list[str]:
    return list(dict.fromkeys(one.arm for point in swept.points for one in point.contrasts))


def _table(swept: Swept, arm: str) -> Iterator[str]:
    name = swept.key.rpartition(".")[2]
    rows = [
        (point.value, one) for point in swept.points for one in point.contrasts if one.arm == arm
    ]
    wide = max(len(name), *(len(value) for value, _ in rows))
    told = [reading(one) for _, one in rows]
    reach = max(map(len, told))
    yield f"{name:>{wide}}  {f'{arm} against {rows[0][1].control}':<{reach}}  verdict"
    for (value, one), words in zip(rows, told, strict=True):
        yield f"{value:>{wide}}  {words:<{reach}}  {_verdict(one)}"


def _verdict(one: SweptContrast) -> str:
    doubts: Sequence[str] = one.threats
    cause = f", by {one.cause}" if one.cause else ""
    return one.verdict + cause + (f" ({', '.join(doubts)})" if doubts else "")
