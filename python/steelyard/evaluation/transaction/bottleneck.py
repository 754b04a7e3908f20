"""Names an arm's bottleneck, with the evidence: the part that takes most of its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.evaluation.transaction.ceiling import ceiling
from steelyard.model.readings import EpochTotals, known_values
from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.machine.probe import Probe
from steelyard.record.verdict import Bottleneck, BottleneckKind, TimeParts

LEAST_SHARE = 0.4
"""Of a transaction's time, that goes to what is called the bottleneck."""
WITHHELD_SHARE = 0.02
"""Of the time, that processors were withheld by a quota or another guest: then waiting for one does
not mean that there are too few."""
DEVICE_SHARE = 0.5
"""Of its probed ceiling, from which on a device that sessions read from is what holds them up. Of
a ceiling that was the processors' nothing follows: the device's own is higher, and not known."""
GROUPS: Mapping[BottleneckKind, Sequence[str]] = {
    "processor": ("processor", "queue"),
    "reading": ("read",),
    "WAL flush": ("wal",),
    "lock": ("locks",),
    "client": ("client",),
}


def bottlenecks(
    epochs: Sequence[EpochTotals], parts: TimeParts, probe: Probe | None = None
) -> tuple[Bottleneck, Bottleneck]:
    """Of the control, and of the arm, whose times these are; `probe`: of their device."""
    withheld = withheld_share(epochs)
    control: dict[str, float] = {part.part: part.control_us for part in parts.parts}
    arm: dict[str, float] = {part.part: part.arm_us for part in parts.parts}
    return (
        _on_device(_bottleneck(parts.control, control, withheld), epochs, probe),
        _on_device(_bottleneck(parts.arm, arm, withheld), epochs, probe),
    )


def _on_device(
    bottleneck: Bottleneck, epochs: Sequence[EpochTotals], probe: Probe | None
) -> Bottleneck:
    """With what the device did, where it may be what holds the arm up."""
    if bottleneck.kind not in ("reading", "WAL flush"):
        return bottleneck
    read = [epoch.readings.get(bottleneck.arm, {}) for epoch in epochs]
    counts = [known_values(readings.values()) for readings in read]
    used = ceiling(counts, probe)
    if used is None:
        return bottleneck
    evidence = (
        f"{bottleneck.evidence}; {used.device} did {used.reads:.0f} reads/s and {used.writes:.0f} "
        f"writes/s, {used.words}"
    )
    near = used.share >= DEVICE_SHARE and not used.by_processors
    kind: BottleneckKind = "device" if near and bottleneck.kind == "reading" else bottleneck.kind
    return bottleneck.model_copy(update={"kind": kind, "evidence": evidence})


def withheld_share(epochs: Sequence[EpochTotals]) -> float:
    """Of the time of all processors, what a quota or other guests withheld; 0 where unknown."""
    shares = []
    for epoch in epochs:
        machine = known_values(epoch.machine.values())
        whole = machine.get("elapsed_ns", 0.0) * max(1.0, machine.get("processors", 1.0))
        lost = machine.get("throttled_ns", 0.0) + machine.get("steal_ns", 0.0)
        shares.append(lost / whole if whole else 0.0)
    return float(np.mean(shares)) if shares else 0.0


def _bottleneck(arm: str, parts: Mapping[str, float], withheld: float) -> Bottleneck:
    whole = sum(parts.values())
    sizes = {kind: sum(parts.get(name, 0.0) for name in names) for kind, names in GROUPS.items()}
    kind = max(sizes, key=lambda group: sizes[group])
    share = sizes[kind] / whole if whole > 0 else 0.0
    if share < LEAST_SHARE:
        return Bottleneck(arm=arm, kind="none", share=share, evidence=_evidence(kind, share, whole))
    evidence = _evidence(kind, share, whole)
    if kind == "processor":
        waited = parts.get("queue", 0.0) / sizes[kind]
        evidence += f", {waited:.0%} of it waiting for one"
        if withheld > WITHHELD_SHARE and waited > 0.5:
            kind = "waiting for a processor"
            evidence += f"; {withheld:.1%} of the processors' time was withheld"
    return Bottleneck(arm=arm, kind=kind, share=share, evidence=evidence)


def _evidence(kind: str, share: float, whole: float) -> str:
    return f"{share:.0%} of {format_duration(whole * NS_PER_US)} a transaction: {_WORDS[kind]}"


_WORDS = {
    "processor": "on a processor or waiting for one",
    "reading": "reading blocks",
    "WAL flush": "writing and syncing the log",
    "lock": "locks and other waits",
    "client": "the client and the network",
}
