"""Weighs the driver and judging against another version: client CPU of loads, seconds of judging.

`--before DIR` or BEFORE is a checkout of the other version with its extension built. Side by side,
in rounds that begin with either version in turn: `steelyard drive -M prepared` of look-ups and of
TPC-B-like transactions on one server, by client CPU a transaction and throughput; `report
--rejudge` and `report` of the large record of judging.py, made by each version as it writes
records; and `judge` of a CSV with a million rows. Required of each median of the rounds' ratios: at
most 1.05 of the seconds before, at least 1 / 1.05 of the throughput. Exit status 1 when missed;
nothing is measured without another version.

    python benches/regression.py [--before DIR] [--rounds 5] [--seconds 10]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from driver_cpu import THREADS, server, spend
from wall_time import interpreter_of

MOST_RATIO = 1.05
"""Of seconds to those before; its inverse is the least of throughput. What rounds scatter by."""
ROWS = 1_000_000
SCALE = 20
LOADS: Mapping[str, Sequence[str]] = {
    "look-ups, 8 clients": ("-S", "-c", "8"),
    "look-ups, 64 clients": ("-S", "-c", "64"),
    "TPC-B-like, 8 clients": ("-b", "tpcb-like", "-c", "8"),
}
MAKE_RECORD = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
import judging
from steelyard.record.record import Record

def there(name, *modules):
    return getattr(next(filter(None, map(module, modules))), name)

def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None

record = Record.open(judging.large_record(pathlib.Path(sys.argv[2])))
read = there("read_recorded", "steelyard.record.reader", "steelyard.record.recorded")
rejudge = there("rejudge", "steelyard.verdict.rejudge", "steelyard.evaluation.rejudge")
record.write("verdict.json", rejudge(read(record)).to_json())
"""
"""Of a version's own bench, with the verdict that the version gives it."""

Measure = Callable[[Path], dict[str, float]]
"""A Python of a version → what was measured, by name: seconds, or transactions per second."""


def drive(target: str, words: Sequence[str], seconds: int) -> Measure:
    """The measure of a load on a server."""

    def measure(python: Path) -> dict[str, float]:
        load = ["-M", "prepared", "-j", str(THREADS), "-T", str(seconds), *words]
        command: list[str | Path] = [python, "-m", "steelyard", "drive", target, *load, "--json"]
        output, cpu_s, _ = spend(command)
        summary = json.loads(output)
        if summary["failed"]:
            raise SystemExit(f"error: transactions failed: {summary['errors']}")
        return {
            "CPU": cpu_s / summary["transactions"],
            "throughput": summary["throughput"],
        }

    return measure


def run(*words: str | Path, places: Mapping[Path, Path]) -> Measure:
    """The measure of a command, which has the place of its version behind it, if there is one."""

    def measure(python: Path) -> dict[str, float]:
        place = [places[python]] if python in places else []
        began = os.times().elapsed
        command = [python, "-m", "steelyard", *words[:1], *place, *words[1:]]
        done = subprocess.run(command, check=False, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(map(str, command))}\n{done.stderr.decode()}")
        return {"time": os.times().elapsed - began}

    return measure


def make_records(trees: Mapping[Path, Path], home: Path) -> dict[Path, Path]:
    """The large record as each version writes it, by the version's Python."""
    records = {}
    for number, (python, tree) in enumerate(trees.items()):
        records[python] = home / f"record-{number}"
        command: list[str | Path] = [python, "-c", MAKE_RECORD, tree / "benches", records[python]]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return records


def write_rows(file: Path) -> Path:
    """A CSV of a million rows, a column an arm."""
    both = np.random.default_rng(1).normal(100, 5, (ROWS, 2))
    file.write_text("before,after\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in both) + "\n")
    return file


def compare(measure: Measure, here: Path, before: Path, rounds: int) -> Iterator[tuple[str, float]]:
    """What was measured and its median ratio, here to before; printed on the way."""
    ratios: dict[str, list[float]] = {}
    for number in range(rounds):
        order = (here, before) if number % 2 == 0 else (before, here)
        by_version = {python: measure(python) for python in order}
        for name, value in by_version[here].items():
            ratios.setdefault(name, []).append(value / by_version[before][name])
    for name, each in ratios.items():
        middle = statistics.median(each)
        print(f"  {name} {middle:.3f} of before [{min(each):.3f} … {max(each):.3f}]", flush=True)
        yield name, middle


def main() -> int:
    """Print the ratios; 1 where one is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, default=os.environ.get("BEFORE") or None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    if options.before is None:
        print("no other version to compare with: make bench BEFORE=<checkout with its extension>")
        return 0
    missed = []
    with (
        interpreter_of(options.before) as before,
        server(SCALE) as (address, _),
        tempfile.TemporaryDirectory() as directory,
    ):
        here, home = Path(sys.executable), Path(directory)
        target = f"host={address.host} port={address.port} user={address.user} dbname=postgres"
        trees = {here: Path(__file__).parents[1], before: options.before.resolve()}
        records = make_records(trees, home)
        rows = write_rows(home / "rows.csv")
        steps: dict[str, Measure] = {
            name: drive(target, words, options.seconds) for name, words in LOADS.items()
        }
        steps["judge, a million rows"] = run("judge", rows, "--unit", "tps", places={})
        steps["report --rejudge"] = run("report", "--rejudge", places=records)
        steps["report"] = run("report", places=records)
        for step, measure in steps.items():
            print(step, flush=True)
            for name, ratio in compare(measure, here, before, options.rounds):
                slower = 1 / ratio if name == "throughput" else ratio
                missed += [f"{step}: {name}"] if slower > MOST_RATIO else []
    print(f"missed: {', '.join(missed)}" if missed else f"none slower by {MOST_RATIO}×")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
