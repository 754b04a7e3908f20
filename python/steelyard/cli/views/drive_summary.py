"""Formats the summary of `steelyard drive`, and its progress lines."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from steelyard.driver.answer import SliceProgress
from steelyard.driver.summary import Ramp, ScriptSummary, Summary
from steelyard.model.endpoint import POSTGRES, error_words
from steelyard.model.readings import Reading
from steelyard.model.units import NS_PER_S, NS_PER_US, counted, format_digits


@dataclass(frozen=True)
class Driven:
    """A load that was driven: its figures, and how it was driven."""

    load: Summary
    clients: int
    threads: int
    mode: str
    placement: str
    io: str
    encryption: str | None
    seed: int
    rate: float | None
    """Arrivals a second; None: as many as the clients can."""
    latency_limit_ms: float | None
    max_tries: int
    ramp: Ramp | None
    protocol: str = POSTGRES
    """Whose error codes they are."""
    pace: float | None = None
    """Of a captured workload's arrivals; None: they are not repeated."""
    machine: tuple[Reading, ...] = ()
    """What the driver's machine did meanwhile."""
    work: Mapping[str, float] = field(default_factory=dict)
    """What a workload counts of its work, a minute."""
    violations: tuple[str, ...] | None = None
    """Of a workload's consistency; None: not asked for."""

    def to_json(self) -> dict[str, Any]:
        """DESIGN's object for `drive --json`."""
        apart = ("load", "ramp", "protocol", "machine", "work", "violations")
        names = [attribute.name for attribute in fields(self) if attribute.name not in apart]
        facts = self.load.to_json() | {name: getattr(self, name) for name in names}
        machine = {reading.name: reading.value for reading in self.machine}
        facts |= {"machine": machine}
        facts |= {"work_per_minute": dict(self.work)} if self.work else {}
        facts |= {} if self.violations is None else {"violations": list(self.violations)}
        return facts if self.ramp is None else facts | {"ramp": self.ramp.to_json()}


def summary_lines(driven: Driven) -> list[str]:
    """The lines of a summary."""
    load = driven.load
    latency = load.latency_us
    lines = [
        f"transactions   {load.transactions} in {load.seconds:.2f} s "
        f"({counted(driven.clients, 'clients')}, {counted(driven.threads, 'threads')}, "
        f"{driven.mode}, "
        f"placement {driven.placement}, seed {driven.seed})",
        f"throughput     {load.throughput:.1f} per second",
    ]
    if latency.mean is not None:
        latencies = "  ".join(
            f"{name} {_milliseconds(value)}" for name, value in asdict(latency).items()
        )
        lines.append(f"latency (ms)   {latencies}")
        lines.append(f"driver CPU     {load.driver_cpu_us_per_transaction:.2f} µs per transaction")
    for name, amount in driven.work.items():
        lines.append(f"work           {amount:.1f} {name.replace('_', ' ')} a minute")
    if driven.violations is not None:
        lines.append(f"consistency    {counted(len(driven.violations), 'violations')}")
        lines += [f"  {violation}" for violation in driven.violations]
    if driven.encryption:
        lines.append(f"encryption     {driven.encryption}")
    lines += _open_loop(driven)
    if driven.ramp is not None:
        lines += _ramp(driven.ramp)
    if load.connections:
        mean = _milliseconds(load.connection_us)
        lines.append(f"connections    {load.connections} made, {mean} ms on average")
    for script in load.scripts:
        lines += _script(script, alone=len(load.scripts) == 1)
    lines.append(f"failed         {load.failed}")
    if load.retries:
        lines.append(f"retried        {load.retried} transactions, {load.retries} times")
    for state, times in sorted(load.errors.items()):
        name = error_words(state, driven.protocol)
        lines.append(f"  {name}: {times} ({load.error_messages.get(state, '')})")
    for count, meaning in (
        (load.skipped, "arrivals were skipped: later than the latency limit"),
        (load.unstarted, "arrivals had not begun at the end"),
        (load.lost, "connections lost"),
        (load.capped, "clients did not finish in time and were cancelled"),
        (load.wrong_rows, "transactions returned a wrong number of rows"),
    ):
        if count:
            lines.append(f"  {count} {meaning}")
    return lines


def _open_loop(driven: Driven) -> list[str]:
    lines = []
    if driven.rate is not None or driven.pace is not None:
        lag = driven.load.schedule_lag_us
        arrivals = (
            f"pace           × {driven.pace:g} of the captured arrivals"
            if driven.rate is None
            else f"rate           {format_digits(driven.rate, 6)} per second requested"
        )
        lines.append(
            f"{arrivals}; {driven.load.late_starts} began late; "
            f"lag (ms) mean {_milliseconds(lag.mean)}  max {_milliseconds(lag.max)}"
        )
    if driven.latency_limit_ms is not None:
        late = driven.load.over_latency_limit
        lines.append(f"latency limit  {late} above {driven.latency_limit_ms:g} ms")
    return lines


def _ramp(ramp: Ramp) -> list[str]:
    head = ("rate/s", "done/s", "mean ms", "p99 ms", "lag ms", "late", "skipped", "unstarted")
    rows = ["ramp         " + "".join(f"{word:>11}" for word in (*head, "failed"))]
    for step in ramp.steps:
        done = step.summary
        cells = [f"{step.rate:.1f}", f"{done.throughput:.1f}"]
        times = (done.latency_us.mean, done.latency_us.p99, done.schedule_lag_us.mean)
        cells += [_milliseconds(duration) for duration in times]
        cells += [str(n) for n in (done.late_starts, done.skipped, done.unstarted, done.failed)]
        behind = "" if step.kept_up else "  behind"
        rows.append(" " * 13 + "".join(f"{cell:>11}" for cell in cells) + behind)
    if ramp.kept_up is None:
        return [*rows, "kept up        with none of these rates"]
    return [*rows, f"kept up        with {format_digits(ramp.kept_up, 6)} per second"]


def _script(script: ScriptSummary, *, alone: bool) -> list[str]:
    lines = []
    latency = script.latency_us
    if not alone:
        tail = "none"
        if latency.mean is not None:
            tail = f"mean {_milliseconds(latency.mean)}  p99 {_milliseconds(latency.p99)}"
        lines.append(f"  {script.name}: {script.transactions} transactions, {tail}")
    if script.commands:
        lines.append("  commands: mean (ms), failures, retries")
    for command in script.commands:
        mean = _milliseconds(command.mean_us)
        lines.append(f"  {mean:>10} {command.failures:>9} {command.retries:>8}  {command.text}")
    return lines


class ProgressLines:
    """Turns the counts so far into a line of each interval, in pgbench's words."""

    def __init__(
        self, every_s: float, *, rate: bool, limit: bool, retries: bool, dated: bool = False
    ) -> None:
        self._every_s = every_s
        self._rate, self._limit, self._retries = rate, limit, retries
        self._dated = dated
        self._last: SliceProgress | None = None
        self._steps_s = 0.0

    def line(self, counts: SliceProgress) -> str:
        """The line of the interval that ends with these counts."""
        if self._last is not None and counts.tick <= self._last.tick:
            # The next step of a ramp counts from the beginning.
            self._steps_s += (self._last.tick + 1) * self._every_s
            self._last = None
        new = counts.since(self._last or SliceProgress())
        self._last = counts
        done = new.transactions
        mean_ms = deviation_ms = 0.0
        if done:
            mean_ns = new.latency_sum_ns / done
            mean_ms = mean_ns / (1000 * NS_PER_US)
            variance = max(0.0, new.latency_squares_ns2 / done - mean_ns**2)
            deviation_ms = math.sqrt(variance) / (1000 * NS_PER_US)
        elapsed = f"{self._steps_s + (counts.tick + 1) * self._every_s:.1f}"
        line = (
            f"progress: {f'{time.time():.3f}' if self._dated else elapsed} s, "
            f"{done / self._every_s:.1f} tps, lat {mean_ms:.3f} ms stddev {deviation_ms:.3f}, "
            f"{new.failed} failed"
        )
        if self._rate:
            begun = max(1, done + new.failed)
            line += f", lag {new.lag_sum_ns / begun * 1000 / NS_PER_S:.3f} ms"
            if self._limit:
                line += f", {new.skipped} skipped"
        if self._retries:
            line += f", {new.retried} retried, {new.retries} retries"
        return line


def _milliseconds(microseconds: float | None) -> str:
    return "-" if microseconds is None else f"{microseconds / 1000:.3f}"
