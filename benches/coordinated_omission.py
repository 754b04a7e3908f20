"""Shows coordinated omission: a server that stalls, seen by a closed loop and by an open one.

One server, one client, the same script. Every two seconds the server's backends are stopped for 200
ms (SIGSTOP), which is what a checkpoint or a lock does to people's requests: a tenth of all moments
lies in a stall. A closed loop sends nothing while it waits, so that a stall is one slow transaction
among thousands, and its 99th percentile knows nothing of it. An open loop at a tenth of that
throughput measures from the intended start: requests that would have come are counted as late as
they would have been. An arrival waits until the stall ends and those before it are served; with a
load of ρ that is (1 − ρ)⁻¹ × 10 % of all, which wait for anything up to a stall alike, so that the
true 99th percentile is 91 % of a stall: 182 ms.

Required: the closed loop's p99 below a tenth of a stall, the open loop's within a fifth of the
truth. Exit status 1 when missed.

    python benches/coordinated_omission.py [--seconds 20]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace

import driver_cpu

from steelyard import _core
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.driver.summary import Summary, summarize
from steelyard.model.endpoint import Endpoint

STALL_S = 0.2
PERIOD_S = 2.0
SHARE = 0.1
"""The open loop's rate, of what the closed loop reached."""
TRUE_P99_MS = STALL_S * 1000 * (1 - 0.01 * (1 - SHARE) / (STALL_S / PERIOD_S))


@contextmanager
def stalling(backends: Sequence[int]) -> Iterator[None]:
    """Stops the backends for STALL_S in every PERIOD_S, until the end."""
    ended = threading.Event()

    def stall() -> None:
        while not ended.wait(PERIOD_S - STALL_S):
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for pid in backends:
                    os.kill(pid, number)
                if number == signal.SIGSTOP:
                    time.sleep(STALL_S)

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def measure(driver: Driver, seconds: float, rate: float | None) -> Summary:
    """One slice with stalls, summed up."""
    request = SliceRequest(arm=0, length_ns=round(seconds * 1e9), rate=rate)
    with stalling(driver.connected["arm"]):
        return summarize(list(driver.run([request])))


def show(name: str, summary: Summary) -> float:
    """Prints a line; the 99th percentile in milliseconds."""
    latency = {key: float(value) / 1000 for key, value in asdict(summary.latency_us).items()}
    figures = "  ".join(f"{key} {value:8.2f}" for key, value in latency.items())
    print(f"{name:<12} {summary.throughput:8.0f}/s  latency (ms)  {figures}", flush=True)
    return latency["p99"]


def plan_of(address: Endpoint) -> DrivePlan:
    """One client, select-only, prepared."""
    text = _core.builtin_script("select-only")
    assert text is not None
    arm = DriveArm("arm", replace(address, database="postgres"), clients=1)
    return DrivePlan((arm,), (DriveScript("select-only", text, rows=1),), variables={"scale": 1})


def main() -> int:
    """Measure both; 1 when one of them does not show what it should."""
    parser = argparse.ArgumentParser(
        description="closed loop against open loop on a stalled server"
    )
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with driver_cpu.server(1) as (address, _), Driver.start(plan_of(address)) as driver:
        closed = measure(driver, options.seconds, None)
        opened = measure(driver, options.seconds, closed.throughput * SHARE)
    stalls = f"{STALL_S * 1000:.0f} ms in every {PERIOD_S:g} s"
    print(f"a server that stalls for {stalls}; the true p99 is {TRUE_P99_MS:.0f} ms")
    closed_p99_ms = show("closed loop", closed)
    open_p99_ms = show("open loop", opened)
    passed = closed_p99_ms < STALL_S * 100 and abs(open_p99_ms / TRUE_P99_MS - 1) < 0.2
    print(
        f"the closed loop hides it, the open loop tells the truth: {'met' if passed else 'missed'}"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
