"""Tables with headings, orders and decoys at random are never judged with the wrong sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from steelyard.evaluation.rule import VerdictKind
from steelyard.foreign.comparison import Comparison, Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.series import Order
from steelyard.foreign.source import source_of
from steelyard.model.errors import SteelyardError

Generator = np.random.Generator
MORE = (
    *("tps", "TPS", "qps", "throughput", "QphH", "NOPM", "tpmC", "req/s", "Requests/sec", "o/s"),
    *("ops/sec", "MB/s", "MiB/s", "GB/s", "rows_per_sec", "queries per second", "iops", "rate"),
    *("avg tps", "tps (excluding)", "goodput", "read_iops"),
)
LESS = (
    *("latency_ms", "avg_latency", "latency_avg", "mean latency (us)", "response_time", "lat_ms"),
    *("Average Response Time", "elapsed_ms", "exec_time", "ns/op", "real_time", "query_time_ms"),
    *("latencyMs", "elapsed", "ms", "Avg Latency [ms]"),
)
DECOYS = (
    *("min", "max", "stddev", "p95", "p99_latency", "min_latency", "max_latency", "tps_stddev"),
    *("latency_stddev", "median", "first_run_ms", "best", "worst_ms", "95th percentile latency"),
    *("lat_p99 (us)", "maxTps", "slowest", "error_rate", "abort_rate", "retries", "errors", "late"),
    *("failed", "cache_miss_rate", "stall_rate", "responseCode", "response_size", "samples", "n"),
    *("iterations", "count", "bytes", "id", "status", "hit_rate", "cpu", "wait_ms", "rows"),
    *("connect_time", "planning_ms", "%", "ratio", "speedup", "diff", "cpu_time", "B/op", "gizmo"),
    *("allocs/op", "transactions", "wal MB/s", "success", "Score Error (99.9%)", "Failures/s"),
)
CONSTANTS = (
    "duration_s",
    "measurementTime",
    "scale",
    "workers",
    "size",
    "warmup_s",
    "test_duration",
)
ARMS = ("arm", "version", "variant", "config", "branch", "db", "build", "host_kind")
COUNTERS = ("run", "rep", "iteration", "block", "round", "#")


@dataclass(frozen=True)
class Drawn:
    """A table and the truth about it."""

    texts: tuple[str, ...]
    """One, or one an arm."""
    column: str
    better: bool
    """Whether the second arm is."""


def drawn(rng: Generator) -> Drawn:
    """8 to 12 rows an arm: the true metric moved by 10 %, decoys by 20 % the other way."""
    higher = bool(rng.integers(2))
    column = str(rng.choice(MORE if higher else LESS))
    better = bool(rng.integers(2))
    effect = 1.1 if higher is better else 1 / 1.1
    count = int(rng.integers(8, 13))
    level = float(rng.choice([0.004, 3.2, 950.0, 52_000.0]))
    true = level * np.exp(rng.normal(0, 0.01, (2, count)))
    swept = rng.random() < 0.4
    clients = np.tile([8, 32], (2, count))[:, :count] if swept else np.full((2, count), 8)
    mix = rng.random() if swept else 1.0
    if mix < 0.3:
        clients[1, : count // 2] = 32  # the second arm had more of them
    elif mix < 0.6:
        clients[0], clients[1] = 8, 32  # or others altogether, which explains any difference
    true = (
        true * np.where(clients == 32, 3.0 if better != higher else 1 / 3, 1.0) if swept else true
    )
    true[1] *= effect
    columns: dict[str, Any] = {column: true}
    for name in rng.choice(DECOYS, int(rng.integers(0, 5)), replace=False):
        own = float(rng.choice([0.5, 20.0, 4000.0])) * np.exp(rng.normal(0, 0.02, (2, count)))
        own[1] *= effect**-2
        columns.setdefault(str(name), own)
    if rng.random() < 0.3:
        columns[str(rng.choice(CONSTANTS))] = np.full((2, count), 60)
    if swept or rng.random() < 0.2:
        columns[str(rng.choice(["clients", "threads", "concurrency", "connections"]))] = clients
    if rng.random() < 0.3:
        columns[str(rng.choice(COUNTERS))] = np.tile(np.arange(1, count + 1), (2, 1))
    return Drawn(_texts(rng, columns), column, better)


def _texts(rng: Generator, columns: dict[str, Any]) -> tuple[str, ...]:
    """The columns in random order: arms in turns, or one after the other, or in two files."""
    names = [str(name) for name in rng.permutation(list(columns))]
    separator = str(rng.choice([",", ";", "\t"]))
    count = next(iter(columns.values())).shape[1]

    def row(arm: int, k: int) -> list[str]:
        return [f"{columns[name][arm, k]:.7g}" for name in names]

    if rng.random() < 0.3:
        lines = [[names, *(row(arm, k) for k in range(count))] for arm in range(2)]
        return tuple("\n".join(separator.join(cells) for cells in own) + "\n" for own in lines)
    place = int(rng.integers(0, len(names) + 1))
    heading = str(rng.choice(ARMS))
    order = [(arm, k) for k in range(count) for arm in range(2)]
    if rng.random() < 0.5:
        order = [(arm, k) for arm in range(2) for k in range(count)]
    lines = [[*names[:place], heading, *names[place:]]]
    for arm, k in order:
        cells = row(arm, k)
        lines.append([*cells[:place], ("off", "on")[arm], *cells[place:]])
    return ("\n".join(separator.join(cells) for cells in lines) + "\n",)


def comparison_of(table: Drawn) -> Comparison | None:
    """What the command makes of a table; None where it refuses."""
    alone = len(table.texts) == 1
    try:
        sheets = [
            (None if alone else name, read_sheet(source_of(text.encode(), name), None, {}, alone))
            for name, text in zip(("off", "on"), table.texts, strict=False)
        ]
        return compare(sheets, Options(order=Order.RANDOM))
    except SteelyardError:
        return None


def says_better(comparison: Comparison) -> bool:
    """Whether the second arm is the better one by the judged numbers."""
    means = {arm.arm: float(np.log(arm.values).mean()) for arm in comparison.arms}
    return (means["on"] > means["off"]) is comparison.metric.higher_is_better


def wrong_without_doubt(table: Drawn, comparison: Comparison) -> bool:
    """Whether a verdict says the opposite of the truth, and nothing makes it invalid."""
    if says_better(comparison) is table.better:
        return False
    (contrast,) = judge_numbers(comparison, margin=0.001).contrasts
    return contrast.verdict.kind in (VerdictKind.SLOWER, VerdictKind.FASTER)


@pytest.mark.parametrize(
    ("seed", "tables"), [(1, 1_000), pytest.param(2, 10_000, marks=pytest.mark.long)]
)
def test_no_table_gets_a_verdict_of_the_wrong_sign(seed: int, tables: int) -> None:
    rng = np.random.default_rng(seed)
    judged = own = 0
    for _ in range(tables):
        table = drawn(rng)
        comparison = comparison_of(table)
        if comparison is None:
            continue
        judged += 1
        own += comparison.metric.column == table.column
        assert not wrong_without_doubt(table, comparison), (table.column, *table.texts)
    assert judged > 0.8 * tables, "a command that refuses everything is never wrong"
    assert own == judged
