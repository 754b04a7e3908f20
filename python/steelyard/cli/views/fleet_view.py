"""Formats what a fleet of machines answered, for a terminal and as JSON.

Answers to a question and the ranking of machines; what `steelyard fleet check` found; what became
of records that were to be taken in; how far a matrix of weighings has come.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from steelyard.fleet.machine_words import (
    alone_words,
    cost_text,
    currencies_text,
    place_text,
    throughput_text,
)
from steelyard.model.readings import LATE_SHARE
from steelyard.model.units import NS_PER_US, format_duration, format_reading, percent_of_log

if TYPE_CHECKING:
    from steelyard.fleet.checking.check import ClusterCheck, LinkCheck, LoadCheck
    from steelyard.fleet.collecting import Collected
    from steelyard.fleet.hosts import Across
    from steelyard.fleet.machines import Ranked, WhichMachine
    from steelyard.fleet.matrix.state import MatrixState


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


def check_lines(check: ClusterCheck) -> Iterator[str]:
    """The table, line by line."""
    for link in check.links:
        yield f"{link.name}: {link.facts.processors} processors, steelyard {link.facts.version}"
        trips = " / ".join(format_duration(link.round_trip_ns(share)) for share in (0.5, 0.99, 1.0))
        yield f"  round trip   {trips} (median, 99th percentile, longest)"
        drift = link.drift
        yield (
            f"  clock        known within ±{format_duration(link.offset.bound_ns)}; drifts "
            f"{drift.ns_per_s / 1000:+.1f} ± {drift.bound_ns_per_s / 1000:.1f} ppm"
        )
        yield from _network(link)
    if check.load is not None:
        yield from _load(check.load)
    yield f"took {check.seconds:.0f} s"


def _network(link: LinkCheck) -> Iterator[str]:
    for name, (counted, bytes_per_s) in link.sent.items():
        speed = "" if bytes_per_s is None else f" of a link of {bytes_per_s / 125e6:g} Gbit/s"
        yield (
            f"  {name:<12} {counted.rx_bytes / 1e6:.1f} MB in, {counted.tx_bytes / 1e6:.1f} MB "
            f"out{speed}; {counted.faults} damaged or dropped"
        )


def _load(load: LoadCheck) -> Iterator[str]:
    yield f"equal arms, {load.slices} slices of 200 ms, {load.clients} clients"
    for name, rate in load.transactions_per_s.items():
        share = load.processor_share[name]
        yield f"  {name}: {rate:.0f} transactions/s, {share:.0%} of its processors"
    verdict = "within" if load.apart_share <= LATE_SHARE else "MORE THAN"
    yield (
        f"  began apart  {format_duration(load.apart_share * 200e6)} at most in 19 of 20 slices: "
        f"{verdict} {LATE_SHARE:.0%} of a slice"
    )
    yield f"  arm to arm   {_arm_to_arm(load)}"


def _arm_to_arm(load: LoadCheck) -> str:
    low, high = load.ratio.low, load.ratio.high
    if not math.isfinite(high - low):
        return "not known: both arms worked in fewer than two blocks"
    middle, *ends = (percent_of_log(log_ratio) for log_ratio in ((low + high) / 2, low, high))
    return f"{format_reading(middle, *ends)} over blocks of one epoch"


def check_json(check: ClusterCheck) -> str:
    """The object of `fleet check --json`."""
    facts = {
        "seconds": check.seconds,
        "machines": [_link_json(link) for link in check.links],
        "load": None if check.load is None else _load_json(check.load),
    }
    return json.dumps(facts)


def _load_json(load: LoadCheck) -> dict[str, Any]:
    low, high = (
        percent_of_log(end) if math.isfinite(end) else None
        for end in (load.ratio.low, load.ratio.high)
    )
    return {
        "slices": load.slices,
        "clients": load.clients,
        "apart_us_p95": load.apart_share * 200_000,
        "apart_share_p95": load.apart_share,
        "low_percent": low,
        "high_percent": high,
        "transactions_per_second": load.transactions_per_s,
        "processor_share": load.processor_share,
    }


def _link_json(link: LinkCheck) -> dict[str, Any]:
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        "name": link.name,
        "host": link.facts.host,
        "processors": link.facts.processors,
        "version": link.facts.version,
        "round_trip_us": {
            name: link.round_trip_ns(share) / NS_PER_US for name, share in shares.items()
        },
        "offset_ns": round(link.offset.value_ns),
        "offset_bound_ns": round(link.offset.bound_ns),
        "drift_ppm": link.drift.ns_per_s / 1000,
        "drift_bound_ppm": link.drift.bound_ns_per_s / 1000,
        "network": {
            name: {
                "rx_bytes": counted.rx_bytes,
                "tx_bytes": counted.tx_bytes,
                "faults": counted.faults,
                "link_bytes_per_s": bytes_per_s,
            }
            for name, (counted, bytes_per_s) in link.sent.items()
        },
    }


def collected_lines(collected: Collected) -> Iterator[str]:
    """Those that are here now, then those that are not."""
    for record, to in collected.taken:
        yield f"taken    {record} -> {to}"
    for record, to in collected.known:
        yield f"known    {record} -> {to}"
    yield from left_lines(collected)


def left_lines(collected: Collected) -> Iterator[str]:
    """Those that are not here, with why."""
    for record, why in collected.refused:
        yield f"refused  {record}: {why}"
    for record, why in collected.skipped:
        yield f"skipped  {record}: {why}"


def matrix_lines(state: MatrixState, collected: Collected) -> Iterator[str]:
    """A line a cell, then what became of the records."""
    width = max(len(name) for name in state.cells)
    for name, cell in state.cells.items():
        yield f"{cell.how:<8} {name:<{width}}  {cell.host}".rstrip()
        for line in cell.why.splitlines() if cell.how != "done" else ():
            yield f"         {line}"
    here = len(collected.taken) + len(collected.known)
    if here:
        yield f"{here} {'record is' if here == 1 else 'records are'} here: steelyard fleet"
    yield from left_lines(collected)
    left = sum(cell.how == "waiting" for cell in state.cells.values())
    if left:
        yield f"{left} wait for a host of their kind: the same command goes on with them"


def matrix_json(state: MatrixState, collected: Collected) -> str:
    """The object of `fleet run --json`."""
    cells = [{"name": name, **asdict(cell)} for name, cell in state.cells.items()]
    facts = {"folder": str(state.folder), "cells": cells, "records": collected.to_json()}
    return json.dumps(facts)
