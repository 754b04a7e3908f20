"""Adds the lines of a record up to what each arm did in each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from steelyard._core import histogram_merge
from steelyard.model.readings import ArmTotals, EpochTotals, PartRead, SliceTotals

Json = Mapping[str, Any]


def slice_busy_ns(line: Json) -> int:
    """Time under load of a slice, summed over its clients, with the debt every client pays for."""
    return int(line["busy_ns"]) + int(line["clients"]) * int(line.get("debt_ns", 0))


def uncharged_ns(line: Json) -> int:
    """Time of a slice after its bell that was charged to no client; about 0 for an honest border.

    After the bell nothing begins, and a client is charged until its last transaction ends. So what
    the clients were charged with beyond the slice's length is at least the way back of the last.
    """
    if "start_ns" not in line or not line.get("length_ns"):
        return 0
    after_bell = int(line["end_ns"]) - int(line["start_ns"]) - int(line["length_ns"])
    charged = int(line["busy_ns"]) - int(line["clients"]) * int(line["length_ns"])
    return max(0, max(0, after_bell) - charged)


def arm_totals(arm: str, slot: int, lines: Iterable[Json]) -> ArmTotals:
    """The totals of one arm from its measured slice lines of one epoch."""
    every = list(lines)
    measured = [line for line in every if not line.get("dropped")]
    errors: Counter[str] = Counter()
    latencies: dict[str, list[str]] = {}
    for line in measured:
        errors.update(line.get("errors", {}))
        for script in line.get("scripts", ()):
            latencies.setdefault(script["name"], []).append(script["latency"])
    return ArmTotals(
        arm=arm,
        slot=slot,
        clients=max((int(line["clients"]) for line in measured), default=0),
        transactions=_sum(measured, "transactions"),
        busy_ns=sum(slice_busy_ns(line) for line in measured),
        latency_sum_ns=_sum(measured, "latency_sum_ns"),
        debt_ns=_sum(measured, "debt_ns"),
        failed=_sum(measured, "failed"),
        lost=_sum(measured, "lost"),
        capped=_sum(measured, "capped"),
        wrong_rows=_sum(measured, "wrong_rows"),
        retries=_sum(measured, "retries"),
        rows=_sum(measured, "rows") if all("rows" in line for line in measured) else None,
        dropped=len(every) - len(measured),
        elapsed_ns=sum(line.get("end_ns", 0) - line.get("start_ns", 0) for line in measured),
        uncharged_ns=sum(map(uncharged_ns, measured)),
        errors=dict(errors),
        slices=tuple(_slice_totals(line) for line in measured),
        latencies={name: histogram_merge(parts) for name, parts in latencies.items()},
        statements=_statements(measured),
    )


def epoch_totals(epoch_line: Json, slice_lines: Iterable[Json]) -> EpochTotals:
    """One epoch from its telemetry line and its slice lines; warm-up slices are not readings."""
    by_arm: dict[str, list[Json]] = {arm: [] for arm in epoch_line["slots"]}
    for line in slice_lines:
        if line["kind"] == "measured":
            by_arm[line["arm"]].append(line)
    details = epoch_line.get("arms", {})
    return EpochTotals(
        epoch=epoch_line["epoch"],
        slots=dict(epoch_line["slots"]),
        start_order=tuple(epoch_line["start_order"]),
        arms={
            arm: arm_totals(arm, epoch_line["slots"][arm], lines) for arm, lines in by_arm.items()
        },
        outcome=epoch_line.get("outcome", "complete"),
        counters={arm: dict(d.get("counters", {})) for arm, d in details.items()},
        transactions_all={arm: d.get("all_transactions", 0) for arm, d in details.items()},
        cpu_ns={arm: d.get("cpu_ns", 0) for arm, d in details.items()},
        work_per_minute={arm: dict(d.get("work_per_minute", {})) for arm, d in details.items()},
        probes={arm: dict(d.get("probes", {})) for arm, d in details.items()},
        transactions_measured={arm: d.get("transactions", 0) for arm, d in details.items()},
        parts={
            arm: tuple(PartRead(**part) for part in d.get("parts", ()))
            for arm, d in details.items()
        },
    )


def epochs_of(slices: Iterable[Json], telemetry: Iterable[Json]) -> list[EpochTotals]:
    """Every finished epoch of a record in order; slices of a torn epoch are left unseen."""
    finished = {line["epoch"]: line for line in telemetry if line.get("type") == "epoch"}
    by_epoch: dict[int, list[Json]] = {epoch: [] for epoch in finished}
    for line in slices:
        if line["kind"] == "measured" and line["epoch"] in by_epoch:
            attempt = finished[line["epoch"]].get("attempt", 1)
            if line.get("attempt", 1) == attempt:
                by_epoch[line["epoch"]].append(line)
    return [epoch_totals(finished[epoch], by_epoch[epoch]) for epoch in sorted(finished)]


def _statements(lines: Iterable[Json]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for line in lines:
        for script in line.get("scripts", ()):
            for timed in script.get("commands", ()):
                name = f"{script['name']}:{timed['line']} {timed['text']}"
                executions, sum_ns = found.get(name, (0, 0))
                found[name] = (executions + timed["executions"], sum_ns + timed["sum_ns"])
    return found


def _sum(lines: Iterable[Json], key: str) -> int:
    return sum(int(line.get(key, 0)) for line in lines)


def _slice_totals(line: Json) -> SliceTotals:
    return SliceTotals(
        block=line["block"],
        position=line["position"],
        transactions=line["transactions"],
        busy_ns=slice_busy_ns(line),
        latency_sum_ns=line["latency_sum_ns"],
        failed=line.get("failed", 0),
        script=line.get("script"),
        aside=line.get("aside", False),
    )
