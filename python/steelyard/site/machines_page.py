"""Chooses what the page "which machine" shows: rankings by throughput and by cost, and what may not
be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.fleet.machine_words import (
    alone_words,
    cost_text,
    currencies_text,
    place_text,
    throughput_text,
)
from steelyard.fleet.machines import MachineGroup, Ranked, WhichMachine
from steelyard.site.address import utc


@dataclass(frozen=True)
class RankedRow:
    """A row of a ranking."""

    place: int
    name: str
    kind: str
    at: str
    report: str
    """Empty: there is none."""
    figure: str
    price: str
    against: str
    doubts: str


@dataclass(frozen=True)
class ShownRanking:
    """One order of the machines of a group."""

    title: str
    head: str
    rows: tuple[RankedRow, ...]


@dataclass(frozen=True)
class ShownGroup:
    """Machines that did the same."""

    title: str
    rankings: tuple[ShownRanking, ...]
    without_price: str
    currencies: str
    """Why there is no ranking by cost, where prices are in several; else empty."""


@dataclass(frozen=True)
class MachinesShown:
    """The page."""

    groups: tuple[ShownGroup, ...]
    alone: tuple[str, ...]
    """Why other machines are in no ranking, a sentence each without a full stop."""
    left_out: tuple[tuple[str, str], ...]
    """(record, why)."""


def show_machines(ranking: WhichMachine, reports: Mapping[str, str]) -> MachinesShown:
    """The page of a ranking; `reports`: path of a record → the address of its report, or empty."""
    several = [item for item in ranking.groups if len(item.by_throughput) > 1]
    alone = [item for item in ranking.groups if len(item.by_throughput) == 1]
    return MachinesShown(
        groups=tuple(_group(item, reports) for item in several),
        alone=tuple(alone_words(item, several[0] if several else None) for item in alone),
        left_out=ranking.left_out,
    )


def _group(group: MachineGroup, reports: Mapping[str, str]) -> ShownGroup:
    metric = "transactions a second" if group.metric == "throughput" else group.metric
    rankings = [
        ShownRanking("By throughput", metric, _rows(group.by_throughput, throughput_text, reports))
    ]
    if group.by_cost:
        rows = _rows(group.by_cost, cost_text, reports)
        rankings.append(ShownRanking("By cost", "a million transactions cost", rows))
    return ShownGroup(
        group.words, tuple(rankings), ", ".join(group.without_price), currencies_text(group)
    )


def _rows(
    ranked: Sequence[Ranked], text: Callable[[Ranked], str], reports: Mapping[str, str]
) -> tuple[RankedRow, ...]:
    return tuple(
        RankedRow(
            place=place + 1,
            name=item.machine.name,
            kind=item.machine.kind,
            at=utc(item.machine.at),
            report=reports.get(item.machine.record, ""),
            figure=text(item),
            price=item.machine.price.words if item.machine.price else "",
            against=place_text(item, place),
            doubts=", ".join(item.machine.doubts) or "none",
        )
        for place, item in enumerate(ranked)
    )
