"""Formats what many machines answered, and their ranking, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.fleet.hosts import Across
from steelyard.fleet.machine_words import (
    alone_words,
    cost_text,
    currencies_text,
    place_text,
    throughput_text,
)
from steelyard.fleet.machines import Ranked, WhichMachine
from steelyard.model.units import format_reading


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
        yield from _rows(group.by_throughput, throughput_text)
        if group.by_cost:
            yield "  by the cost of a million transactions"
            yield from _rows(group.by_cost, cost_text)
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


def _rows(ranked: Sequence[Ranked], text: Callable[[Ranked], str]) -> Iterator[str]:
    for place, row in enumerate(ranked):
        kind = f" ({row.machine.kind})" if row.machine.kind else ""
        doubts = f"; doubts: {', '.join(row.machine.doubts)}" if row.machine.doubts else ""
        yield f"  {place + 1}. {text(row):<30}  {place_text(row, place)}"
        yield f"     {row.machine.name}{kind}{doubts}"
