"""Weighs equal arms on a host with and without an idle raylet, to see if it changes a reading.

    python -m validation.raylet [--most N] [--records DIR]

Pairs of weighings (`steelyard weigh aa`), one without Ray and one with a node of a cluster idle
beside it, in an order drawn for each pair. In the second the node's processes are stopped and
continued (SIGSTOP, SIGCONT) at random times, so that slices with and without them lie seconds
apart: the log ratio of their throughput is one number an epoch. Each weighing is one line of
results/raylet.jsonl; one that has its line is not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from validation.load_nodes import cluster_of, processes_of
from validation.results import FOLDER, Results
from validation.schedule import control_throughput
from validation.weigh_command import machine_of, revision, run_weigh_pair

RESULTS = Results(FOLDER / "raylet.jsonl")
PAIRS = 10
BUDGET = "30s"
FIRST_SEED = 20_000
IDLE_S = 20.0
"""Over which the processor time of an idle node is read."""
HELD_S = (0.5, 1.5)
"""How long the node is stopped or runs: short of the 3 s after which its cluster asks for it."""
FEWEST_SLICES = 3
"""Of each state in an epoch that gives a number."""


@dataclass
class Switching:
    """When the processes of a node were stopped and continued."""

    changed_ns: list[int] = field(default_factory=list)
    """CLOCK_MONOTONIC; the node ran before the first."""

    def running(self, start_ns: int, end_ns: int) -> bool | None:
        """Whether the node ran from one time to another; None: it was switched meanwhile."""
        before = bisect_right(self.changed_ns, start_ns)
        if before != bisect_right(self.changed_ns, end_ns):
            return None
        return before % 2 == 0


@contextmanager
def switched(node: Any, draw: random.Random) -> Iterator[Switching]:
    """Stop and continue a node at random times; it runs at the end."""
    switching, done = Switching(), threading.Event()

    def switch() -> None:
        while not done.wait(draw.uniform(*HELD_S)):
            stopping = len(switching.changed_ns) % 2 == 0
            began_ns = time.monotonic_ns()
            _signal(node, signal.SIGSTOP if stopping else signal.SIGCONT)
            # A slice that the switching falls into is of neither state.
            switching.changed_ns.append((began_ns + time.monotonic_ns()) // 2)

    thread = threading.Thread(target=switch)
    thread.start()
    try:
        yield switching
    finally:
        done.set()
        thread.join()
        _signal(node, signal.SIGCONT)


def _signal(node: Any, number: signal.Signals) -> None:
    for process in processes_of(node):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def processor_share(node: Any, seconds: float) -> float:
    """Of one processor, what the node's processes use while nothing is asked of them."""
    before, began = _processor_s(node), time.monotonic()
    time.sleep(seconds)
    return (_processor_s(node) - before) / (time.monotonic() - began)


def _processor_s(node: Any) -> float:
    total = 0.0
    for process in processes_of(node):
        with suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            total += used.user + used.system
    return total


def differences(slices: Sequence[Mapping[str, Any]], switching: Switching) -> list[float]:
    """For each epoch ln(throughput with the node running / stopped), both arms together."""
    sums: dict[tuple[int, bool], list[float]] = {}
    for line in slices:
        running = switching.running(line["start_ns"], line["end_ns"])
        if line["kind"] == "measured" and running is not None:
            totals = sums.setdefault((line["epoch"], running), [0, 0, 0])
            for column, value in enumerate((1, line["transactions"], line["busy_ns"])):
                totals[column] += value
    log_ratios = []
    for epoch in sorted({epoch for epoch, _ in sums}):
        both = [sums.get((epoch, running)) for running in (True, False)]
        sampled = [totals for totals in both if totals and totals[0] >= FEWEST_SLICES and totals[1]]
        if len(sampled) == 2:
            rates = [done / busy_ns for _, done, busy_ns in sampled]
            log_ratios.append(math.log(rates[0] / rates[1]))
    return log_ratios


def weigh(number: int, cluster: Any | None, records: Path) -> dict[str, Any]:
    """One weighing of equal arms; with a cluster beside it, its node is switched."""
    state = "with" if cluster is not None else "without"
    record = records / f"{state}{number}" / "record"
    shutil.rmtree(record.parent, ignore_errors=True)  # of one that was interrupted
    seed = FIRST_SEED + number
    arguments = ["aa", "--budget", BUDGET, "--seed", str(seed)]
    name = f"{state}/{number}"
    facts: dict[str, Any] = {}
    if cluster is None:
        verdict, contrast, environment = run_weigh_pair(name, arguments, record)
    else:
        node = next(iter(cluster.worker_nodes))
        facts["processor_share"] = round(processor_share(node, IDLE_S), 5)
        facts["memory_bytes"] = sum(process.memory_info().rss for process in processes_of(node))
        with switched(node, random.Random(seed)) as switching:
            verdict, contrast, environment = run_weigh_pair(name, arguments, record)
        text = (record / "slices.jsonl").read_text().splitlines()
        facts["switched"] = differences([json.loads(line) for line in text], switching)
    names = ("estimate_percent", "low_percent", "high_percent", "verdict", "nonzero", "epochs")
    return {
        "state": state,
        "seed": seed,
        **{name: contrast[name] for name in names},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "control_throughput": control_throughput(contrast),
        "seconds": verdict["seconds"],
        **facts,
        "revision": revision(),
        "machine": machine_of(environment),
    }


def main() -> int:
    """Weigh what has no result yet."""
    parser = argparse.ArgumentParser(description="a host with and without a raylet; resumable")
    parser.add_argument("--most", type=int, default=None, help="stop after so many weighings")
    parser.add_argument("--records", type=Path, default=Path("records/raylet"))
    options = parser.parse_args()
    waiting = [
        (state, number)
        for number in range(1, PAIRS + 1)
        for state in random.Random(number).sample(("with", "without"), 2)
        if f"{state}/{number}" not in RESULTS.answered_keys()
    ]
    for state, number in waiting[: options.most]:
        if state == "with":
            with cluster_of(1) as cluster:
                result = weigh(number, cluster, options.records)
        else:
            result = weigh(number, None, options.records)
        RESULTS.add(f"{state}/{number}", result)
        print(f"{state:<8} {number}: {result['estimate_percent']:+.2f} %", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
