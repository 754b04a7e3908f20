"""Measures reading, judging and reporting a large record, and judging a million rows of others.

A record of 8 arms and 40 epochs with 10,000 slices, with histograms and readings as weighings have
them: seconds and memory of reading and judging it and of its page, each as a whole process and both
in one. And `steelyard judge` of CSVs with a million rows, a column an arm and in long form, as a
ratio to numpy reading the same, and of one with 20 numbers. Medians of the rounds, with the least
and the greatest. Beside them the floors: starting Python with the libraries that judging stands on,
reading the same JSON lines, and numpy reading the same CSV. Exit status 1 when one is above its
bound.

    python benches/judging.py [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.evaluation.threats.machine import MACHINE_READINGS
from steelyard.record.reader import VERDICT, read_recorded
from steelyard.record.record import Record
from steelyard.record.upgrade import upgrade_telemetry
from steelyard.verdict.rejudge import rejudge

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from report.conftest import make_record  # noqa: E402

Json = dict[str, Any]
ARMS = tuple("abcdefgh")
EPOCHS = 40
SLICES = 10_000
ROWS = 1_000_000
FILES = ("record", "rows.csv", "few.csv", "listed.csv")
BOUNDS = {
    "rejudge and report": (2.0, 200),
    "report --rejudge": (2.0, 200),
    "report": (2.0, 200),
    "judge": (3.0, None),
    "judge, long form": (3.0, None),
    "judge 20 numbers": (1.0, None),
}
"""Step → the most seconds, and MB of memory."""


def large_record(directory: Path) -> Path:
    """A record as a weighing leaves it; its verdict is what it is judged to.

    Lines of slices have every key, and the histogram, of a kept weighing of look-ups; the epochs
    have its readings, and waits, parts and the machine's as weighings have them since.
    """
    each = SLICES // (len(ARMS) * EPOCHS)
    effects = tuple(number / 100 for number in range(1, len(ARMS)))
    make_record(directory, arms=ARMS, epochs=EPOCHS, slices_per_epoch=each, effects=effects)
    arms = "".join(f'[[arm]]\nname = "{arm}"\n' for arm in ARMS[1:])
    study = f'title = "Large"\nquestion = "How long?"\n[control]\nname = "a"\n{arms}'
    (directory / "study.toml").write_text(study)
    slice_kept = recorded_line("slices.jsonl", "kind", "measured")
    epoch_kept = recorded_line("telemetry.jsonl", "type", "epoch")
    [script], draw = slice_kept["scripts"], random.Random(1)

    def whole(line: Json) -> Json:
        fields = {"scripts": [{**script, "transactions": line["transactions"]}]}
        fields["driver_cpu_ns"] = slice_kept["driver_cpu_ns"]
        return {**slice_kept, **line, **fields, "rows": line["transactions"]}

    def telemetry(line: Json) -> Json:
        first, *_ = upgrade_telemetry(epoch_kept)["arms"].values()
        first = {**first, "driver_cpu_ns": each * slice_kept["driver_cpu_ns"]}
        by_arm = {arm: arm_telemetry(first, draw, n / 100) for n, arm in enumerate(ARMS)}
        order = draw.sample(ARMS, len(ARMS))
        return {**line, "start_order": order, "arms": by_arm, "machine": machine_telemetry()}

    rewrite(directory / "slices.jsonl", whole)
    rewrite(directory / "telemetry.jsonl", telemetry)
    record = Record.open(directory)
    record.write(VERDICT, rejudge(read_recorded(record)).to_json())
    return directory


def recorded_line(file: str, key: str, value: str) -> Json:
    """The first line of a kind in a file of a kept weighing."""
    with tarfile.open(ROOT / "tests" / "records" / "aa.tar.xz") as archive:
        lines = archive.extractfile(file)
        assert lines is not None
        return next(line for line in map(json.loads, lines) if line[key] == value)


def rewrite(file: Path, change: Callable[[Json], Json]) -> None:
    """Every line of a file changed."""
    lines = [change(json.loads(line)) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def arm_telemetry(first: Json, draw: random.Random, effect: float) -> Json:
    """The telemetry of an arm: the kept readings within a percent, and times of sessions;
    an arm that is so much faster takes so much less processor time."""
    busy = {"session_cpu_us": 1.7e6, "session_queue_us": 2.9e6}
    readings = [*first["readings"]]
    readings += [{"name": n, "unit": "µs", "value": v, "measured": True} for n, v in busy.items()]
    waits = [{"event": "IO:DataFileRead", "part": "read", "sessions": draw.randrange(1, 9)}]
    return {
        **first,
        "readings": [
            {**reading, "value": reading["value"] * draw.gauss(1, 0.01) / (1 + effect)}
            for reading in readings
        ],
        "waits": {"samples": 20, "sessions": 160, "events": waits},
        "parts": [
            {"first_block": 8 * part, "values": {"requested_bytes": 1e6 * draw.gauss(1, 0.1)}}
            for part in range(4)
        ],
    }


def machine_telemetry() -> list[Json]:
    """The telemetry of a machine that raises no threat."""
    readings = dict.fromkeys(sorted(MACHINE_READINGS), 0.0) | {
        "elapsed_ns": 6.5e9, "processors": 2, "processors_before": 2, "same_processors": 1,
        "memory_available_bytes": 8e9, "memory_total_bytes": 16e9,
        "memory_total_before_bytes": 16e9, "disk_free_bytes": 4e10, "disk_total_bytes": 6e10,
    }  # fmt: skip
    return [{"name": name, "unit": "", "value": value} for name, value in readings.items()]


def used(command: list[str | Path]) -> tuple[float, float]:
    """Wall seconds, and the most MB that a command had; SystemExit where it fails."""
    begun = os.times().elapsed
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tempfile.gettempdir()
    )
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{errors}")
    return os.times().elapsed - begun, usage.ru_maxrss / 1024


def make_files(home: Path) -> None:
    """The large record and the tables, by their names in FILES."""
    record, rows, few, listed = (home / name for name in FILES)
    large_record(record)
    both = np.random.default_rng(1).normal(100, 5, (ROWS, 2))
    for file, count in ((rows, ROWS), (few, 10)):
        lines = (f"{a:.3f},{b:.3f}" for a, b in both[:count])
        file.write_text("before,after\n" + "\n".join(lines) + "\n")
    pairs = (f"before,{a:.3f}\nafter,{b:.3f}" for a, b in both[: ROWS // 2])
    listed.write_text("arm,tps\n" + "\n".join(pairs) + "\n")


def main() -> int:
    """Print medians beside their bounds; 1 when one is above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", type=Path, help="only write the files that are measured")
    options = parser.parse_args()
    if options.make is not None:
        make_files(options.make)
        return 0
    steelyard = Path(sys.executable).with_name("steelyard")
    with tempfile.TemporaryDirectory() as home:
        # What this process has ever had counts as a child's memory until the child executes.
        subprocess.run([sys.executable, __file__, "--make", home], check=True)
        record, rows, few, listed = (Path(home) / name for name in FILES)
        both_steps = (
            "import pathlib, sys; place = pathlib.Path(sys.argv[1]);"
            "from steelyard.verdict.rejudge import rejudge;"
            "from steelyard.record.record import Record;"
            "from steelyard.record.reader import read_recorded;"
            "from steelyard.report.page import write_report;"
            "rejudge(read_recorded(Record.open(place))); write_report(place)"
        )
        libraries = "import numpy, pydantic, scipy.special, jinja2"
        read_json = "import json,sys; [json.loads(line) for line in open(sys.argv[1])]"
        read_csv = "import numpy,sys; numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1)"
        steps: dict[str, list[str | Path]] = {
            "rejudge and report": [sys.executable, "-c", both_steps, record],
            "report --rejudge": [steelyard, "report", record, "--rejudge"],
            "report": [steelyard, "report", record],
            "judge": [steelyard, "judge", rows, "--unit", "tps"],
            "judge, long form": [steelyard, "judge", listed],
            "judge 20 numbers": [steelyard, "judge", few, "--unit", "tps"],
            "floor: libraries": [sys.executable, "-c", libraries],
            "floor: its JSON": [sys.executable, "-c", read_json, record / "slices.jsonl"],
            "floor: its CSV": [sys.executable, "-c", read_csv, rows],
        }
        usage: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
        for _ in range(options.rounds):
            for name, command in steps.items():
                usage[name].append(used(command))
    measured = {
        name: (statistics.median(s for s, _ in each), max(mb for _, mb in each))
        for name, each in usage.items()
    }
    ranges = {name: (min(each)[0], max(each)[0]) for name, each in usage.items()}
    missed = [
        name
        for name, (seconds, megabytes) in BOUNDS.items()
        if measured[name][0] > seconds or (megabytes is not None and measured[name][1] > megabytes)
    ]
    if options.json:
        print(json.dumps({"found": measured, "ranges": ranges, "bounds": BOUNDS, "missed": missed}))
        return 1 if missed else 0
    for name, (seconds, megabytes) in measured.items():
        bound = f"  at most {BOUNDS[name][0]:g} s" if name in BOUNDS else ""
        bound += f", {BOUNDS[name][1]} MB" if name in BOUNDS and BOUNDS[name][1] else ""
        least, most = ranges[name]
        print(f"{name:<18} {seconds:6.2f} s [{least:.2f} … {most:.2f}]  {megabytes:5.0f} MB{bound}")
    ratio = measured["judge"][0] / measured["floor: its CSV"][0]
    print(f"judge takes {ratio:.1f} times what numpy takes to read the same CSV")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
