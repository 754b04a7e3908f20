"""Paths that may not be used, or cannot be one: each command refuses them, by name, with a hint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMANDS = """
judge {path}
judge {path}/*.csv
judge a={path} b={path}
scrub {path}
checksums {path}
upgrade --from {path} --to 18
doctor {path}
probe {path}
report {path}
report {path} --brief
history list --records {path}
history compare {path} {path}
history export {path}/x.csv
history export x.csv --records {path}
site -o {path}
site -o pages --records {path}
serve --records {path}
weigh {path}
weigh {path}/study.toml
weigh checksums -f {path}
weigh checksums --record {path}
weigh checksums --from {path}
weigh checksums --workload {path}
weigh checksums --set workload={path}
weigh --resume {path}
weigh builds --control {path} --arm {path}
weigh settings --arm conf={path}
calibrate --record {path}
reproduce {path}
reproduce checksums --record {path}
engines add {path}
engines --bindir {path}
drive postgresql:///x -f {path}
workloads load {path}
workloads capture {path} -o load
workloads capture log -o {path}
fleet run {path}
fleet collect {path}
""".strip().splitlines()
"""Below a folder with records and with a log of a server."""

LOG = """\
2026-11-30 10:00:00.000 UTC [1] LOG:  statement: SELECT 1
2026-11-30 10:00:01.000 UTC [1] LOG:  statement: SELECT 2
"""

RUN = """
import contextlib, io, json, sys
from closed_paths import obeying_permissions
from steelyard.cli import app
for line in json.load(sys.stdin):
    sys.argv = ["steelyard", *line]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            with obeying_permissions():
                status = app._run()
    except BaseException as error:
        status = repr(error)
    print(json.dumps([line, status, err.getvalue()]), flush=True)
"""


def run(lines: list[list[str]], home: Path) -> list[tuple[list[str], object, str]]:
    """What each command line ended with, all in one process: status or defect, and what it said."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "STEELYARD_CACHE": str(home / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    ended = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=home,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return [tuple(json.loads(line)) for line in ended.stdout.splitlines()]


def long_name(there: Path) -> Path:
    return there / ("n" * 300)


def below_a_file(there: Path) -> Path:
    return there / "log" / "below"


def loop(there: Path) -> Path:
    link = there / "loop"
    link.symlink_to(link)
    return link


def in_a_closed_directory(there: Path) -> Path:
    (there / "closed").mkdir(mode=0)
    return there / "closed" / "within"


@pytest.mark.parametrize("make", [in_a_closed_directory, below_a_file, long_name, loop])
def test_every_command_refuses_a_path_by_its_name(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "records").mkdir()
    path = make(tmp_path)
    lines = [line.format(path=path).split() for line in COMMANDS]
    ends = run(lines, tmp_path)
    assert [line for line, _, _ in ends] == lines
    refused = [
        (line, status, text[-400:])
        for line, status, text in ends
        if status not in (2, 3) or "error: " not in text or str(path)[:200] not in text
    ]
    assert refused == []
