"""Says what shows that a part of a transaction's time holds an arm up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.evaluation.transaction.bottleneck import BottleneckFacts, Ceiling
from steelyard.evaluation.transaction.time_parts import TimeBreakdown
from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.verdict import Bottleneck, BottleneckKind, TimeParts

_PARTS: Mapping[BottleneckKind, str] = {
    "processor": "on a processor or waiting for one",
    "reading": "reading blocks",
    "WAL flush": "writing and syncing the log",
    "lock": "locks and other waits",
    "client": "the client and the network",
}


def with_bottlenecks(breakdowns: Iterable[TimeBreakdown]) -> list[TimeParts]:
    """The parts of each, with what holds its arms up in words, as a record has them."""
    return [
        breakdown.parts.model_copy(
            update={"bottlenecks": tuple(map(bottleneck_line, breakdown.bottlenecks))}
        )
        for breakdown in breakdowns
    ]


def bottleneck_line(facts: BottleneckFacts) -> Bottleneck:
    """As a record has it."""
    return Bottleneck(
        arm=facts.arm, kind=facts.kind, share=facts.share, evidence=evidence_text(facts)
    )


def evidence_text(facts: BottleneckFacts) -> str:
    """`"62 % of 1.2 ms a transaction: reading blocks; sdb did 900 reads/s and 3 writes/s, 71 % of
    what the probe got from it"`."""
    whole = format_duration(facts.transaction_us * NS_PER_US)
    parts = [f"{facts.share:.0%} of {whole} a transaction: {_PARTS[facts.part]}"]
    if facts.waited is not None:
        parts.append(f", {facts.waited:.0%} of it waiting for one")
    if facts.withheld is not None:
        parts.append(f"; {facts.withheld:.1%} of the processors' time was withheld")
    if facts.device is not None:
        parts.append(f"; {_device(facts.device)}")
    return "".join(parts)


def _device(used: Ceiling) -> str:
    rates = f"{used.reads:.0f} reads/s and {used.writes:.0f} writes/s"
    return f"{used.device} did {rates}, {ceiling_text(used)}"


def ceiling_text(used: Ceiling) -> str:
    """The share of what a device can do, and whose ceiling it is of."""
    share = f"{used.share * 100:.0f} % of what the probe got from it"
    limit = ", whose limit were the processors: the device can do more"
    return share + limit if used.by_processors else share
