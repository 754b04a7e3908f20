"""Kills parts of weighings from several machines at seeded moments, and counts what is lost.

    python -m validation.kills [--most N] [--only WHAT] [--records DIR]

Each moment is a weighing of equal sessions through three of four nodes of a Ray cluster on this
machine. At a time drawn from the moment's seed after its first measured slice a load driver, its
actor, its node or the weighing itself is ended by SIGKILL; a killed weighing is resumed. A time at
which there was nothing to end is drawn anew. Its result is one line of results/kills.jsonl; a
moment in which something was ended is not repeated. Exit status 1: some slice was lost, or
something was left, anywhere in the cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from validation.far_server import far_server
from validation.load_nodes import DRIVER, add_host, cluster_of, drivers_of
from validation.results import FOLDER, Results
from validation.schedule import NODES, SESSIONS
from validation.weigh_command import STEELYARD, revision

RESULTS = Results(FOLDER / "kills.jsonl")
WHAT = ("driver", "actor", "node", "coordinator")
MOMENTS = 10
"""Of each."""
BUDGET = "20s"
CLIENTS = 6
LATEST_S = 10.0
"""After the first measured slice: within the load of all of them."""
LONGEST_S = 600.0
GONE_S = 30.0
MOST_DRAWS = 10
MARK = "STEELYARD_KILLS"
"""In the environment of everything that these weighings start, wherever its parent went."""
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"


@dataclass(frozen=True)
class Moment:
    """What is killed, and when."""

    what: str
    number: int

    @property
    def key(self) -> str:
        """Unique among all moments."""
        return f"{self.what}/{self.number}"

    @property
    def seed(self) -> int:
        """Of the weighing, the time and the victim."""
        return 100 * WHAT.index(self.what) + self.number


def moments() -> Iterator[Moment]:
    """All of them, kinds mixed, so that a part of them is a fair sample."""
    for number in range(1, MOMENTS + 1):
        for what in WHAT:
            yield Moment(what, number)


class Weighing:
    """A weighing that something is killed of."""

    def __init__(self, words: Sequence[str], folder: Path, log: str) -> None:
        self.record = folder / "record"
        self._stdout, self._stderr = folder / f"{log}.json", folder / f"{log}.txt"
        folder.mkdir(parents=True, exist_ok=True)
        with self._stdout.open("w") as stdout, self._stderr.open("w") as stderr:
            self.process = subprocess.Popen(
                [STEELYARD, "weigh", *words, "--json"], stdout=stdout, stderr=stderr
            )

    def lines(self, file: str) -> list[str]:
        """The complete lines of a file of the record."""
        path = self.record / file
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def measured_slices(self) -> list[dict[str, Any]]:
        """The measured slices that are on disk."""
        lines = map(json.loads, self.lines("slices.jsonl"))
        return [line for line in lines if line["kind"] == "measured"]

    def await_measured(self) -> None:
        """Until its first measured slice; SystemExit: it ended before."""
        limit = time.monotonic() + LONGEST_S
        while not self.measured_slices():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise SystemExit(f"error: nothing was measured\n{self._stderr.read_text()[-2000:]}")
            time.sleep(0.05)

    def end(self) -> int:
        """Wait for it; its exit status."""
        try:
            return self.process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return -1

    def verdict(self) -> dict[str, Any]:
        """What `--json` printed; empty where that is nothing, or an error."""
        text = self._stdout.read_text().strip()
        answer = dict(json.loads(text)) if text else {}
        return {} if "error" in answer else answer


def words_of(moment: Moment, address: str, ray: str, record: Path) -> list[str]:
    """The arguments of `steelyard weigh` for a moment."""
    options = [f"--set={override}" for override in (*SESSIONS, f"workload.clients={CLIENTS}")]
    where = ["--address", address, "--machines", str(NODES), "--ray", ray]
    ends = ["--budget", BUDGET, "--seed", str(moment.seed), "--record", str(record)]
    return ["sessions", *where, *options, *ends]


def strike(moment: Moment, draw: random.Random, cluster: Any, weighing: Weighing) -> bool:
    """Kill what the moment says; False: the weighing had ended, or had no driver any more."""
    if moment.what == "coordinator":
        if weighing.process.poll() is not None:
            return False
        weighing.process.kill()
        return weighing.process.wait() < 0
    while weighing.process.poll() is None:
        having = [(node, drivers) for node in cluster.worker_nodes if (drivers := drivers_of(node))]
        if not having:
            time.sleep(0.02)  # between two epochs
            continue
        node, (driver, *_) = draw.choice(sorted(having, key=lambda candidate: candidate[0].node_id))
        if moment.what == "node":
            cluster.remove_node(node, allow_graceful=False)
            add_host(cluster)
            return True
        try:
            (driver if moment.what == "driver" else driver.parent() or driver).kill()
        except psutil.NoSuchProcess:
            continue
        return True
    return False


def run_moment(moment: Moment, cluster: Any, address: str, folder: Path) -> dict[str, Any]:
    """What became of a weighing in which something was killed, at the first time drawn at which
    there was something to kill."""
    draw = random.Random(moment.seed)
    draws = 0
    result: dict[str, Any] = {"struck": False}
    while not result["struck"] and draws < MOST_DRAWS:
        result = attempt_kill(moment, draw, cluster, address, folder)
        draws += 1
    return {**result, "draws": draws}


def attempt_kill(
    moment: Moment, draw: random.Random, cluster: Any, address: str, folder: Path
) -> dict[str, Any]:
    """Weigh and kill once: the result of the attempt."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)  # of a moment that was interrupted
    arguments = words_of(moment, address, cluster.address, folder / "record")
    weighing = Weighing(arguments, folder, "first")
    weighing.await_measured()
    after_s = draw.uniform(0, LATEST_S)
    time.sleep(after_s)
    drivers = [driver for node in cluster.worker_nodes for driver in drivers_of(node)]
    struck = strike(moment, draw, cluster, weighing)
    on_disk = weighing.lines("slices.jsonl")
    status = weighing.end()
    left = drivers_left(drivers)
    if moment.what == "coordinator":
        left |= {"sessions after the kill": sessions_left(address)}
        on_disk = weighing.lines("slices.jsonl")
        resumed = ["--resume", str(weighing.record), "--ray", cluster.address]
        weighing = Weighing(resumed, folder, "resumed")
        status = weighing.end()
    return {
        "what": moment.what,
        "seed": moment.seed,
        "after_s": round(after_s, 3),
        "struck": struck,
        "status": status,
        "slices_on_disk": len(on_disk),
        "slices_gone": missing(on_disk, weighing.lines("slices.jsonl")),
        **epochs_of(weighing),
        **left,
        "survivors": survivors(),
        "sessions": sessions_left(address),
        "same": reproduces_verdict(weighing.record),
        "seconds": round(time.monotonic() - began, 1),
        "revision": revision(),
    }


def missing(before: Sequence[str], after: Sequence[str]) -> int:
    """Of the lines that were on disk, those that are not there, in their order, at the end."""
    return sum(a != b for a, b in zip(before, after, strict=False)) + max(
        0, len(before) - len(after)
    )


def drivers_left(drivers: Sequence[psutil.Process]) -> dict[str, int]:
    """How many of the drivers outlive the weighing: each is waited for."""
    _, alive = psutil.wait_procs(drivers, timeout=GONE_S)
    return {"drivers": len(alive)}


def survivors() -> int:
    """How many load drivers of these weighings are left when all is over, on any node, of any
    epoch, also of a node or an actor that is gone: each is waited for."""
    limit = time.monotonic() + GONE_S
    while left := sum(map(_is_ours, psutil.process_iter())):
        if time.monotonic() > limit:
            break
        time.sleep(0.1)
    return left


def _is_ours(process: psutil.Process) -> bool:
    try:
        return DRIVER in process.cmdline() and process.environ().get(MARK) == os.environ.get(MARK)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def sessions_left(address: str) -> int:
    """Sessions of load drivers that are left on the server, each waited for."""
    limit = time.monotonic() + GONE_S
    with psycopg.connect(address, autocommit=True) as connection:
        while True:
            row = connection.execute(_SESSIONS.encode()).fetchone()
            left = int(row[0]) if row else 0
            if not left or time.monotonic() > limit:
                return left
            time.sleep(0.1)


def epochs_of(weighing: Weighing) -> dict[str, Any]:
    """How its epochs went, and whether those that are complete have every slice by all machines."""
    lines = [json.loads(line) for line in weighing.lines("telemetry.jsonl")]
    epochs = {line["epoch"]: line for line in lines if line["type"] == "epoch"}
    complete = {n: epoch for n, epoch in epochs.items() if epoch["outcome"] == "complete"}
    counts: Counter[tuple[int, str]] = Counter()
    torn = 0
    for measured in weighing.measured_slices():
        if (
            measured["epoch"] in complete
            and measured["attempt"] == complete[measured["epoch"]]["attempt"]
        ):
            counts[measured["epoch"], measured["arm"]] += 1
            machines = measured["together"]["machines"]
            names, clients = {m["name"] for m in machines}, sum(m["clients"] for m in machines)
            torn += (len(names), clients) != (NODES, CLIENTS)
    most = max(counts.values(), default=0)
    arms = {arm for _, arm in counts}
    few = sum(counts[n, arm] != most for n in complete for arm in arms)
    judged = [contrast["epochs"] for contrast in weighing.verdict().get("contrasts", ())]
    return {
        "epochs": len(epochs),
        "complete": len(complete),
        "lost": [epoch["outcome"] for epoch in epochs.values() if epoch["outcome"] != "complete"],
        "slices_few": few + torn,
        "judged": judged[0] if judged else 0,
    }


def reproduces_verdict(record: Path) -> bool:
    """Whether the record gives its verdict again."""
    command: list[str | Path] = [STEELYARD, "report", record, "--rejudge", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and bool(json.loads(done.stdout)["same"])


def holds(line: Mapping[str, Any]) -> bool:
    """Whether something was killed, no slice was lost and nothing was left: the weighing went on to
    its verdict, every epoch is complete or named, and what was on disk at the kill is there."""
    nothing = ("status", "slices_gone", "slices_few", "drivers", "survivors", "sessions")
    return (
        line["struck"]
        and not any(line[name] for name in nothing)
        and not line.get("sessions after the kill")
        and line["same"]
        and line["judged"] == line["complete"] > 0
        and all("load machine" in outcome for outcome in line["lost"])
    )


def summary(results: Sequence[Mapping[str, Any]]) -> str:
    """One line a kind, and what did not hold."""
    lines = []
    for what in WHAT:
        struck = [result for result in results if result["what"] == what and result["struck"]]
        lost = sum(len(result["lost"]) for result in struck)
        good = sum(map(holds, struck))
        lines.append(
            f"{what:<12} {len(struck)} of {MOMENTS} killed, {lost} epochs lost, {good} hold"
        )
    bad = [result["key"] for result in results if not holds(result)]
    lines.append(f"does not hold: {', '.join(bad)}" if bad else "no slice lost, nothing left")
    return "\n".join(lines)


def main() -> int:
    """Work through the moments that have no result yet."""
    parser = argparse.ArgumentParser(description="kills at seeded moments; resumable")
    parser.add_argument("--most", type=int, default=None, help="stop after so many moments")
    parser.add_argument("--only", choices=WHAT, default=None)
    parser.add_argument("--records", type=Path, default=Path("records/kills"))
    options = parser.parse_args()
    done = {result["key"] for result in RESULTS if result["struck"]}
    waiting = [
        moment
        for moment in moments()
        if moment.key not in done and options.only in (None, moment.what)
    ]
    waiting = waiting[: options.most]
    if waiting:
        os.environ[MARK] = f"{os.getpid()}"
        with far_server() as address, cluster_of(NODES + 1) as cluster:
            for moment in waiting:
                result = run_moment(moment, cluster, address, options.records / moment.key)
                RESULTS.replace(moment.key, result)
                outcome = "holds" if holds(result) else "DOES NOT HOLD"
                print(f"{moment.key:<15} {outcome}, {result['seconds']:.0f} s", flush=True)
    print(summary(list(RESULTS)))
    return 0 if all(map(holds, RESULTS)) else 1


if __name__ == "__main__":
    sys.exit(main())
