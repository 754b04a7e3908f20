"""Measures how long each command is silent on a terminal, and on which line its answer stands.

Every command is called on a terminal of 80 columns (a pseudo-terminal): the seconds until its first
byte, the median of 3 calls in turn. What goes on for longer is interrupted then. Then one weighing
is done, and the line of its summary that names the verdict with both arms is counted. Exit status 1
where a command is silent for longer than a second, or that line is not the first; on a busy machine
seconds are upper bounds.

    python benches/first_sign.py [--rounds 3] [--budget 20s] [--json]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import shlex
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from steelyard.cli.commands import COMMANDS

MOST_S = 1.0
COLUMNS, ROWS = 80, 24
_WAIT_S = 60.0
WEIGHING = "weigh settings --set workload.scale=1 --set arm.settings.work_mem=8MB"
WORDS = {
    "weigh": f"{WEIGHING} --record unseen",
    "calibrate": "calibrate --record unseen",
    "judge": "judge numbers.csv --unit ms",
    "drive": "drive host=/nonexistent -b select-only -T 1",
    "workloads": "workloads list",
    "engines": "engines list",
    "history": "history list",
    "site": "site -o pages",
    "fleet": "fleet",
    "serve": "serve --port 0",
    "report": "report none",
    "studies": "studies",
    "reproduce": "reproduce",
    "doctor": "doctor --no-write",
    "probe": "probe --last .",
    "tune": "tune --memory 8GB -c 50",
    "scrub": "scrub none",
    "checksums": "checksums none",
    "drill": "drill --copies 1",
    "upgrade": "upgrade --from none --to 18",
    "completion": "completion bash",
}
"""Command → as it is called. What goes on for long is interrupted at its first sign."""


def first_sign(arguments: str, directory: Path) -> float:
    """Seconds until the first byte on a terminal. SystemExit: the command
    ends without any."""
    program = str(Path(sys.executable).parent / "steelyard")
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        began = time.monotonic()
        with subprocess.Popen(
            [program, *shlex.split(arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            process_group=0,
        ) as process:
            ready, _, _ = select.select([master], [], [], _WAIT_S)
            silent_s = time.monotonic() - began
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                if select.select([master], [], [], 0.5)[0]:
                    os.read(master, 1 << 16)
    finally:
        os.close(master)
        os.close(slave)
    if not ready:
        raise SystemExit(f"error: steelyard {arguments} printed nothing within {_WAIT_S:g} s")
    return silent_s


def answer_line(budget: str, directory: Path) -> int:
    """The line of a weighing's summary that has the verdict's word and both arms, from 1."""
    program = str(Path(sys.executable).parent / "steelyard")
    done = subprocess.run(
        [program, *shlex.split(WEIGHING), "--budget", budget, "--record", "weighed"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    contrast = json.loads((directory / "weighed" / "verdict.json").read_text())["contrasts"][0]
    required = (contrast["verdict"].upper(), contrast["arm"], contrast["control"])
    lines = enumerate(done.stdout.splitlines(), 1)
    return next(n for n, line in lines if all(word in line for word in required))


def measure(rounds: int, budget: str) -> dict[str, object]:
    """Command → median seconds until its first sign; the line of the answer; the load average."""
    missing = {*COMMANDS} - {*WORDS}
    if missing:
        raise SystemExit(f"error: not called here: {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o711)
        numbers = "".join(f"{arm},{1 + n / 100}\n" for n in range(10) for arm in ("off", "on"))
        (directory / "numbers.csv").write_text(f"arm,time\n{numbers}")
        line = answer_line(budget, directory)  # data are loaded, files compiled
        times: dict[str, list[float]] = {command: [] for command in COMMANDS}
        for _ in range(rounds):
            for command, signs in times.items():
                signs.append(first_sign(WORDS[command], directory))
    medians = {command: statistics.median(signs) for command, signs in times.items()}
    return {"seconds": medians, "answer_line": line, "load": os.getloadavg()[0]}


def main() -> int:
    """Print the table; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = measure(options.rounds, options.budget)
    seconds: dict[str, float] = measured["seconds"]  # type: ignore[assignment]
    missed = [command for command, silent_s in seconds.items() if silent_s > MOST_S]
    if options.json:
        print(json.dumps({**measured, "bound": MOST_S, "missed": missed}))
    else:
        print(f"load average {measured['load']:.1f}; required: at most {MOST_S:g} s")
        for command, silent_s in seconds.items():
            mark = "  (missed)" if command in missed else ""
            print(f"{command:<12} {silent_s:5.2f} s{mark}")
        print(f"the answer stands on line {measured['answer_line']} of a weighing's summary")
    return 1 if missed or measured["answer_line"] != 1 else 0


if __name__ == "__main__":
    sys.exit(main())
