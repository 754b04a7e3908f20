"""What else is measured on the machine is seen, of any account, and without its secrets."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.record.epoch import OtherLoadLine
from steelyard.telemetry.host import other_loads


def proc_of(place: Path, processes: dict[int, tuple[int, str]]) -> Path:
    """A /proc with these processes: id → (parent, words)."""
    for pid, (parent, words) in processes.items():
        (place / str(pid)).mkdir()
        (place / str(pid) / "stat").write_text(f"{pid} (a) b (c)) S {parent} 1 1 0")
        (place / str(pid) / "cmdline").write_bytes("\0".join([*words.split(), ""]).encode())
    (place / "self").mkdir()
    return place


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("/usr/bin/python3 -m steelyard weigh checksums --seed 1", "weigh checksums"),
        ("/usr/bin/python3 /x/bin/steelyard weigh checksums --seed 1", "weigh checksums"),
        ("/x/bin/steelyard calibrate", "calibrate"),
        ("steelyard drive postgresql://me:secret@host/db -c 4", "drive"),
        ("steelyard history bisect settings --along a=1,2", "bisect settings"),
        ("steelyard weigh --from /data --budget 1m", "weigh"),
        ("steelyard weigh password=secret", "weigh"),
        ("steelyard history", ""),
        ("steelyard weigh --help", ""),
        ("vi steelyard weigh.md", ""),
        ("tail -f steelyard", ""),
    ],
)
def test_a_measurement_is_known_by_its_command_and_study_alone(
    tmp_path: Path, words: str, command: str
) -> None:
    found = other_loads(proc_of(tmp_path, {1: (0, "init"), 7: (1, words), 9: (1, "me")}), own=9)
    assert [one.command for one in found] == ([command] if command else [])


def test_what_began_this_one_and_what_it_began_are_no_others(tmp_path: Path) -> None:
    processes = {
        1: (0, "init"),
        2: (1, "steelyard reproduce x"),
        3: (2, "steelyard weigh own"),
        4: (3, "steelyard drive x"),
        5: (1, "steelyard reproduce y"),
        6: (5, "steelyard weigh theirs"),
    }
    found = other_loads(proc_of(tmp_path, processes), own=3)
    assert found == (OtherLoadLine(pid=6, command="weigh theirs"),)


def test_a_process_of_this_machine_is_seen() -> None:
    idle = ["-c", "import time; time.sleep(60)", "steelyard", "weigh", "settings"]
    with subprocess.Popen([sys.executable, *idle], start_new_session=True) as other:
        try:
            time.sleep(0.5)  # until its words are its own
            # Our own child is ours; for process 1 it is another's.
            assert other.pid not in {one.pid for one in other_loads()}
            seen = {one.pid: one.command for one in other_loads(own=-1)}
            assert seen[other.pid] == "weigh settings"
            assert os.getpid() not in seen
        finally:
            other.kill()
