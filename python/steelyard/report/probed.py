"""Compares what a probe found of the storage with what the weighing used of it."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.evaluation.transaction.bottleneck import ceiling
from steelyard.model.readings import known_values
from steelyard.model.units import NS_PER_S, NS_PER_US, format_duration
from steelyard.record.environment import Environment
from steelyard.record.epoch import EpochLine
from steelyard.record.machine.probe import (
    LOG_PATH,
    NOT_DIRECT,
    PEAK_READ,
    PEAK_WRITE,
    RANDOM_READ,
    Probe,
)
from steelyard.record.verdict import Verdict
from steelyard.wording.bottleneck import ceiling_text

_FIGURES = (RANDOM_READ, PEAK_READ, PEAK_WRITE)


def probed_rows(
    environment: Environment, epochs: Sequence[EpochLine], verdict: Verdict | None
) -> list[tuple[str, str]]:
    """What the probe found and when, then what each arm used of it; empty without a probe."""
    probe = environment.probe
    if probe is None:
        return []
    age = environment.probe_age_seconds or 0.0
    rows = [
        (f"probe of {probe.device}", f"{format_duration(age * NS_PER_S)} before: {_all(probe)}")
    ]
    if not probe.direct:
        why = f"not told: {NOT_DIRECT}, so that these figures are memory's"
        rows.append(("share of what the device can do", why))
    for arm in environment.arms:
        lines = [epoch.arms[arm].readings for epoch in epochs if arm in epoch.arms]
        readings = [known_values(line) for line in lines]
        used = ceiling(readings, probe)
        if used is not None:
            rows.append(
                (
                    f"while {arm} was driven",
                    f"{used.reads:.0f} of {used.most_reads:.0f} reads/s and {used.writes:.0f} of "
                    f"{used.most_writes:.0f} writes/s: {ceiling_text(used)}",
                )
            )
    return [*rows, *_log_row(probe, verdict)]


def _all(probe: Probe) -> str:
    figures = [figure for name in _FIGURES if (figure := probe.figure(name)) is not None]
    return "; ".join(
        f"{figure.name} {figure.iops:.0f}/s in {format_duration(round(figure.mean_ns))}"
        f"{' (the limit was the processors)' if figure.processor_bound else ''}"
        for figure in figures
    )


def _log_row(probe: Probe, verdict: Verdict | None) -> list[tuple[str, str]]:
    """The sync path beside what a transaction waits for the log."""
    log = probe.figure(LOG_PATH)
    if log is None or verdict is None:
        return []
    waited: dict[str, float] = {}
    for breakdown in verdict.time:
        for part in breakdown.parts:
            if part.part == "wal":
                waited |= {breakdown.control: part.control_us, breakdown.arm: part.arm_us}
    if not waited:
        return []
    waits = ", ".join(
        f"{format_duration(round(us * NS_PER_US))} in {arm}" for arm, us in waited.items()
    )
    return [
        (
            "write and sync of the log",
            f"{format_duration(round(log.mean_ns))} for a lone client in the probe; a transaction "
            f"waited {waits}",
        )
    ]
