"""Weighs equal arms and known weights on real servers, many times: `make validate-live`.

Every weighing is the command a user would give, with a fixed seed, and its result is one line of
results/live.jsonl; a case that has its line is not weighed again, so this can be stopped at any
time and resumed later. The records stay where --records says, for the replay of traces.

    python -m validation.live [--most N] [--records DIR] [--kind KIND] [--untold]

With --untold a result that was kept before verdicts told causes is weighed again, and replaced.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.record.record import Record
from validation.far_server import far_server
from validation.load_nodes import cluster_of
from validation.results import FOLDER, Results
from validation.schedule import KINDS, Case, cases, control_throughput, debt_share
from validation.weigh_command import environment_of, machine_of, revision, run_weigh, verdict_of

RESULTS = Results(FOLDER / "live.jsonl")


def weigh(
    case: Case, records: Path, address: str | None = None, ray: str | None = None
) -> dict[str, Any]:
    """Run one case and return its result. `address`: of the server that sessions are of; `ray`: of
    the cluster of several load machines."""
    record = (
        records / case.weighing.replace(" ", "").replace("%", "") / "record"
    )  # alone: not an attempt at another
    options = [f"--set={override}" for override in case.overrides]
    arguments = [case.study, "--budget", case.budget, "--seed", str(case.weighing_seed)]
    arguments += options
    arguments += [] if address is None else ["--address", address]
    arguments += [] if ray is None else ["--machines", str(case.machines), "--ray", ray]
    load, began, started = os.getloadavg()[0], time.monotonic(), datetime.now(UTC)
    earlier = verdict_of(record) if case.shared else None  # for another of its arms
    verdict = earlier or run_weigh(case.weighing, arguments, record)
    [contrast] = [each for each in verdict["contrasts"] if case.arm in (None, each["arm"])]
    environment = environment_of(record)
    elapsed_s = earlier["seconds"] if earlier else time.monotonic() - began
    owed = debt_share(Record(record).lines("slices.jsonl"), contrast["control"])
    return {
        "kind": case.kind,
        "seed": case.seed,
        "overrides": case.overrides,
        "started": started.isoformat(timespec="seconds"),
        "load_before": round(load, 2),
        "truth_percent": case.truth_percent(control_throughput(contrast), owed),
        **{name: contrast[name] for name in _OF_THE_CONTRAST},
        "d": contrast["details"]["d"],
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "threats": [
            {name: threat[name] for name in ("name", "invalidates")}
            for threat in contrast["threats"]
        ],
        "told": bool(verdict.get("time")),
        "cause": _cause(verdict, contrast["arm"]),
        "control_throughput": control_throughput(contrast),
        "placement": verdict["placement"],
        "measured_seconds": verdict["measured_seconds"],
        "seconds": verdict["seconds"],
        "command_seconds": round(elapsed_s, 1),
        "version": environment["steelyard"]["version"],
        "revision": revision(),
        "machine": machine_of(environment),
    }


def _cause(verdict: Mapping[str, Any], arm: str) -> str | None:
    """The part of a transaction's time that is named as the cause of an arm's difference."""
    causes = [
        contrast["cause"]["part"]
        for contrast in verdict.get("time", ())
        if contrast.get("cause") and contrast["arm"] == arm
    ]
    return causes[0] if causes else None


_OF_THE_CONTRAST = (
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "nonzero",
    "epochs",
    "blocks",
)


def say(case: Case, result: dict[str, Any], left: int) -> None:
    interval = [result[name] for name in ("low_percent", "high_percent")]
    bounds = "no interval" if None in interval else f"[{interval[0]:+.2f}, {interval[1]:+.2f}]"
    print(
        f"{case.key:<22} truth {result['truth_percent']:+.2f} %, read "
        f"{result['estimate_percent']:+.2f} % {bounds} {result['verdict']}, "
        f"{result['command_seconds']:.0f} s; {left} left",
        flush=True,
    )


def main() -> int:
    """Weigh what has no result yet."""
    parser = argparse.ArgumentParser(description="live validation on real servers; resumable")
    parser.add_argument("--most", type=int, default=None, help="stop after so many weighings")
    parser.add_argument("--records", type=Path, default=Path("records/validation"))
    parser.add_argument("--kind", choices=KINDS, action="append", help="of these kinds alone")
    parser.add_argument("--untold", action="store_true", help="again where no cause was asked for")
    options = parser.parse_args()
    kinds = options.kind or KINDS
    done = {result["key"] for result in RESULTS if "cause" in result or not options.untold}
    waiting = [case for case in cases() if case.key not in done and case.kind in kinds]
    waiting = waiting[: options.most]
    with ExitStack() as stack:
        far = any(case.study == "sessions" for case in waiting)
        address = stack.enter_context(far_server()) if far else None
        nodes = max((case.machines for case in waiting), default=1)
        ray = stack.enter_context(cluster_of(nodes)).address if nodes > 1 else None
        for number, case in enumerate(waiting):
            here = address if case.study == "sessions" else None
            result = weigh(case, options.records, here, ray if case.machines > 1 else None)
            RESULTS.replace(case.key, result)
            say(case, result, len(waiting) - number - 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
