"""Measures reading, judging and reporting a large record, and judging a million rows of others.

A record of 8 arms and 40 epochs with 10,000 slices, each with a histogram as weighings have them:
seconds and memory of `steelyard report RECORD` after a rejudgement, as whole processes. And
`steelyard judge` of a CSV with a million rows. Beside them the floor: Python reading the same JSON
lines, and numpy reading the same CSV. Exit status 1 when one is above its bound.

    python benches/judging.py [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from report.conftest import make_record  # noqa: E402

ARMS = tuple("abcdefgh")
EPOCHS = 40
SLICES = 10_000
ROWS = 1_000_000
BOUNDS = {"report --rejudge": (2.0, 200), "report": (2.0, 200), "judge": (3.0, None)}
"""Step → the most seconds, and MB of memory."""


def large_record(place: Path) -> Path:
    """A record as a weighing leaves it; its verdict is what it is judged to."""
    each = SLICES // (len(ARMS) * EPOCHS)
    effects = tuple(number / 100 for number in range(1, len(ARMS)))
    make_record(place, arms=ARMS, epochs=EPOCHS, slices_per_epoch=each, effects=effects)
    arms = "".join(f'[[arm]]\nname = "{arm}"\n' for arm in ARMS[1:])
    study = f'title = "Large"\nquestion = "How long?"\n[control]\nname = "a"\n{arms}'
    (place / "study.toml").write_text(study)
    latency = kept_histogram()
    lines = [json.loads(line) for line in (place / "slices.jsonl").read_text().splitlines()]
    for line in lines:
        for script in line["scripts"]:
            script["latency"] = latency
    (place / "slices.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


def kept_histogram() -> str:
    """Latencies of a slice of a kept weighing."""
    with tarfile.open(ROOT / "tests" / "records" / "settings.tar.xz") as archive:
        slices = archive.extractfile("slices.jsonl")
        assert slices is not None
        for line in map(json.loads, slices):
            if line["kind"] == "measured":
                return str(line["scripts"][0]["latency"])
    raise SystemExit("error: the kept record has no measured slice")


def used(command: list[str | Path]) -> tuple[float, float]:
    """Wall seconds, and the most MB that a command had."""
    begun = os.times().elapsed
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir()
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return os.times().elapsed - begun, usage.ru_maxrss / 1024


def main() -> int:
    """Print medians beside their bounds; 1 when one is above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    steelyard = Path(sys.executable).with_name("steelyard")
    with tempfile.TemporaryDirectory() as home:
        record = large_record(Path(home) / "record")
        rows = Path(home) / "rows.csv"
        draw = np.random.default_rng(1)
        both = draw.normal(100, 5, (ROWS // 2, 2))
        rows.write_text("before,after\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in both) + "\n")
        read_json = "import json,sys; [json.loads(line) for line in open(sys.argv[1])]"
        read_csv = "import numpy,sys; numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1)"
        steps: dict[str, list[str | Path]] = {
            "report --rejudge": [steelyard, "report", record, "--rejudge"],
            "report": [steelyard, "report", record],
            "judge": [steelyard, "judge", rows],
            "floor: its JSON": [sys.executable, "-c", read_json, record / "slices.jsonl"],
            "floor: its CSV": [sys.executable, "-c", read_csv, rows],
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
        for _ in range(asked.rounds):
            for name, command in steps.items():
                taken[name].append(used(command))
    found = {
        name: (statistics.median(s for s, _ in each), max(mb for _, mb in each))
        for name, each in taken.items()
    }
    missed = [
        name
        for name, (seconds, megabytes) in BOUNDS.items()
        if found[name][0] > seconds or (megabytes is not None and found[name][1] > megabytes)
    ]
    if asked.json:
        print(json.dumps({"found": found, "bounds": BOUNDS, "missed": missed}))
        return 1 if missed else 0
    for name, (seconds, megabytes) in found.items():
        bound = f"  at most {BOUNDS[name][0]:g} s" if name in BOUNDS else ""
        bound += f", {BOUNDS[name][1]} MB" if name in BOUNDS and BOUNDS[name][1] else ""
        print(f"{name:<18} {seconds:6.2f} s  {megabytes:5.0f} MB{bound}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
