"""Formats the summary of `steelyard drive`, and its progress lines."""

from __future__ import annotations

import math
import time
from typing import Any

from steelyard.model.units import NS_PER_S, NS_PER_US


def readable(summary: dict[str, Any]) -> list[str]:
    """The lines of a summary."""
    latency = summary["latency_us"]
    lines = [
        f"transactions   {summary['transactions']} in {summary['seconds']:.2f} s "
        f"({summary['clients']} clients, {summary['threads']} threads, {summary['mode']}, "
        f"placement {summary['placement']}, seed {summary['seed']})",
        f"throughput     {summary['throughput']:.1f} per second",
    ]
    if latency["mean"] is not None:
        shown = "  ".join(f"{name} {_milliseconds(value)}" for name, value in latency.items())
        lines.append(f"latency (ms)   {shown}")
        cpu = summary["driver_cpu_us_per_transaction"]
        lines.append(f"driver CPU     {cpu:.2f} µs per transaction")
    if summary["encryption"]:
        lines.append(f"encryption     {summary['encryption']}")
    lines += _open_loop(summary)
    if "ramp" in summary:
        lines += _ramp(summary["ramp"])
    if summary["connections"]:
        shown = _milliseconds(summary["connection_us"])
        lines.append(f"connections    {summary['connections']} made, {shown} ms on average")
    for script in summary["scripts"]:
        lines += _script(script, alone=len(summary["scripts"]) == 1)
    lines.append(f"failed         {summary['failed']}")
    if summary["retries"]:
        lines.append(
            f"retried        {summary['retried']} transactions, {summary['retries']} times"
        )
    for state, times in sorted(summary["errors"].items()):
        lines.append(f"  SQLSTATE {state}: {times} ({summary['error_messages'].get(state, '')})")
    for name, meaning in (
        ("skipped", "arrivals were skipped: later than the latency limit"),
        ("unstarted", "arrivals had not begun at the end"),
        ("lost", "connections lost"),
        ("capped", "clients did not finish in time and were cancelled"),
        ("wrong_rows", "transactions returned a wrong number of rows"),
    ):
        if summary[name]:
            lines.append(f"  {summary[name]} {meaning}")
    return lines


def _open_loop(summary: dict[str, Any]) -> list[str]:
    lines = []
    if summary["rate"] is not None:
        lag = summary["schedule_lag_us"]
        lines.append(
            f"rate           {summary['rate']:g} per second requested; "
            f"{summary['late_starts']} began late; lag (ms) mean {_milliseconds(lag['mean'])}  "
            f"max {_milliseconds(lag['max'])}"
        )
    if summary["latency_limit_ms"] is not None:
        late = summary["over_latency_limit"]
        lines.append(f"latency limit  {late} above {summary['latency_limit_ms']:g} ms")
    return lines


def _ramp(ramp: dict[str, Any]) -> list[str]:
    head = ("rate/s", "done/s", "mean ms", "p99 ms", "lag ms", "late", "skipped", "unstarted")
    rows = ["ramp         " + "".join(f"{word:>11}" for word in (*head, "failed"))]
    for step in ramp["steps"]:
        cells = [f"{step['rate']:.1f}", f"{step['throughput']:.1f}"]
        cells += [_milliseconds(step["latency_us"][name]) for name in ("mean", "p99")]
        cells.append(_milliseconds(step["schedule_lag_us"]["mean"]))
        counts = ("late_starts", "skipped", "unstarted", "failed")
        cells += [str(step[name]) for name in counts]
        behind = "" if step["kept_up"] else "  behind"
        rows.append(" " * 13 + "".join(f"{cell:>11}" for cell in cells) + behind)
    if ramp["kept_up"] is None:
        return [*rows, "kept up        with none of these rates"]
    return [*rows, f"kept up        with {ramp['kept_up']:g} per second"]


def _script(script: dict[str, Any], *, alone: bool) -> list[str]:
    lines = []
    percentiles = script["latency_us"]
    if not alone:
        tail = "none"
        if percentiles["mean"] is not None:
            mean, p99 = _milliseconds(percentiles["mean"]), _milliseconds(percentiles["p99"])
            tail = f"mean {mean}  p99 {p99}"
        lines.append(f"  {script['name']}: {script['transactions']} transactions, {tail}")
    if script["commands"]:
        lines.append("  commands: mean (ms), failures, retries")
    for command in script["commands"]:
        mean = _milliseconds(command["mean_us"])
        lines.append(
            f"  {mean:>10} {command['failures']:>9} {command['retries']:>8}  {command['text']}"
        )
    return lines


class ProgressLines:
    """Turns the counts so far into a line of each interval, in pgbench's words."""

    def __init__(
        self, every_s: float, *, rate: bool, limit: bool, retries: bool, dated: bool = False
    ) -> None:
        self._every_s = every_s
        self._rate, self._limit, self._retries = rate, limit, retries
        self._dated = dated
        self._last: dict[str, Any] = {}
        self._steps_s = 0.0

    def line(self, counts: dict[str, Any]) -> str:
        """The line of the interval that ends with these counts."""
        if self._last and counts["tick"] <= self._last["tick"]:
            # The next step of a ramp counts from the beginning.
            self._steps_s += (self._last["tick"] + 1) * self._every_s
            self._last = {}
        new = {key: value - self._last.get(key, 0) for key, value in counts.items()}
        self._last = counts
        done = new["transactions"]
        mean_ms = deviation_ms = 0.0
        if done:
            mean_ns = new["latency_sum_ns"] / done
            mean_ms = mean_ns / (1000 * NS_PER_US)
            variance = max(0.0, new["latency_squares_ns2"] / done - mean_ns**2)
            deviation_ms = math.sqrt(variance) / (1000 * NS_PER_US)
        elapsed = f"{self._steps_s + (counts['tick'] + 1) * self._every_s:.1f}"
        shown = (
            f"progress: {f'{time.time():.3f}' if self._dated else elapsed} s, "
            f"{done / self._every_s:.1f} tps, lat {mean_ms:.3f} ms stddev {deviation_ms:.3f}, "
            f"{new['failed']} failed"
        )
        if self._rate:
            begun = max(1, done + new["failed"])
            shown += f", lag {new['lag_sum_ns'] / begun * 1000 / NS_PER_S:.3f} ms"
            if self._limit:
                shown += f", {new['skipped']} skipped"
        if self._retries:
            shown += f", {new['retried']} retried, {new['retries']} retries"
        return shown


def _milliseconds(microseconds: float | None) -> str:
    return "-" if microseconds is None else f"{microseconds / 1000:.3f}"
