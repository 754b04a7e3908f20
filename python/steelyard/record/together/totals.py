"""Adds up how the slices of one arm went on several load machines: skew, and each machine's part.

No time of one machine is subtracted from another's but for the skew, which has its bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.readings import LATE_SHARE, LoadMachineTotals, TogetherTotals
from steelyard.record.slice import MachineInSlice, SliceLine, TogetherLine


def together_totals(lines: Sequence[SliceLine]) -> TogetherTotals | None:
    """Of the measured slices of an arm in an epoch; None where one machine drove them."""
    driven = [(_length_ns(line), line.together) for line in lines if line.together is not None]
    if not driven:
        return None
    apart_ns = [together.skew_ns + together.skew_bound_ns for _, together in driven]
    limits_ns = [LATE_SHARE * length_ns for length_ns, _ in driven]
    return TogetherTotals(
        slices=len(driven),
        apart=sum(ns > limit for ns, limit in zip(apart_ns, limits_ns, strict=True)),
        skew_share=sum(one.skew_ns / length_ns for length_ns, one in driven) / len(driven),
        longest_ns=max(apart_ns),
        machines=_machines(driven),
    )


def _length_ns(line: SliceLine) -> int:
    """That of its bell, or what it took where it had none."""
    return line.length_ns or max(1, line.end_ns - line.start_ns)


def _machines(driven: Sequence[tuple[int, TogetherLine]]) -> dict[str, LoadMachineTotals]:
    found: dict[str, list[tuple[int, MachineInSlice]]] = {}
    for length_ns, together in driven:
        for machine in together.machines:
            found.setdefault(machine.name, []).append((length_ns, machine))
    return {name: _machine(parts) for name, parts in found.items()}


def _machine(parts: Sequence[tuple[int, MachineInSlice]]) -> LoadMachineTotals:
    did = [one for _, one in parts]
    return LoadMachineTotals(
        processors=did[0].processors,
        slices=len(did),
        transactions=sum(one.transactions for one in did),
        busy_ns=sum(one.busy_ns for one in did),
        elapsed_ns=sum(one.end_ns - one.start_ns for one in did),
        driver_cpu_ns=sum(one.driver_cpu_ns for one in did),
        late=sum(one.late_ns > LATE_SHARE * length_ns for length_ns, one in parts),
    )
