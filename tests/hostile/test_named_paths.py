"""With root's rights, no name in a directory of the servers' account is opened, made or changed.

The whole life of servers is traced by strace(1): every system call that takes a path, in Python, in
Rust and in libraries, and which processes had root's rights when they made it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import steelyard
from hostile.test_directories import needs_root
from own_cache import own_cache
from steelyard.engines.account import choose_account
from steelyard.engines.postgres.selection import find_postgres

pytestmark = [pytest.mark.postgres, needs_root, pytest.mark.long]

BEGINNING = """
import os
import sys
from pathlib import Path
from steelyard._core import read_control
from steelyard.engines.capabilities.external import POOLED
from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache, tree_bytes
from steelyard.engines.intake import Intake
from steelyard.engines.page_cache import evict
from steelyard.engines.postgres.pooler import program
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.engines.registry import open_run

engine, account = find_postgres("18"), choose_account()
with open_run(open_cache(), account) as run:
    slot, other = run.slot(0), run.slot(1)
"""
LIFE = """
    engine.take_in(Intake(inspect_source(Path(sys.argv[1])), None), slot, print)
    template = engine.open(slot.path / "data")
    assert engine.stopped_identifier(template.directory) is not None
    arm = template.clone(other.path / "data")
    arm.protect("none")
    arm.start(other, {**engine.listening(encrypted=False), "work_mem": "5MB"})
    arm.settings()
    if program():
        arm.way_in(POOLED, "steelyard")
    arm.counters("steelyard")
    arm.freeze()
    arm.crash()
    arm.restore(template.directory)
    arm.start(other, {})
    arm.stop()
    arm.restore(template.directory)
    evict([arm.directory], account)
    arm.move(other.path / "moved")
    tree_bytes(run.directory)
    run.logs()
    engine.build_defaults(run.slot(2))
"""
OFFENCES = (
    ("postgresql.conf", "(data / 'postgresql.conf').write_text('')"),
    ("postgresql.auto.conf", "(data / 'postgresql.auto.conf').open('a').close()"),
    ("pg_hba.conf", "(data / 'pg_hba.conf').chmod(0o600)"),
    ("pg_ident.conf", "(data / 'pg_ident.conf').read_text()"),
    ("base/1/link", "(data / 'base/1/link').symlink_to('2600')"),
    ("base/1/2601", "(data / 'base/1/2601').exists()"),
    ("base/1/2602", "os.chown(data / 'base/1/2602', 0, 0, follow_symlinks=False)"),
    ("global/pg_control", "read_control(data / 'global/pg_control')"),
    ("pg_xact", "os.listdir(data / 'pg_xact')"),
    ("new", "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(data, os.O_RDONLY))"),
)
"""What is named, and how."""


@dataclass
class Trace:
    """The lines of a trace, and the processes that had given up root's rights by then."""

    lines: Sequence[tuple[int, str]]
    uid: int
    _switched: dict[int, int] = field(default_factory=dict)  # process → line
    _parents: dict[int, tuple[int, int]] = field(default_factory=dict)  # → its parent, line

    def __post_init__(self) -> None:
        waiting: dict[int, int] = {}  # process → line at which it began to fork
        for number, (pid, line) in enumerate(self.lines):
            if re.match(r"setres?uid\(|setreuid\(|setuid\(", line):
                self._switched.setdefault(pid, number)
            if re.match(r"(clone3?|v?fork)\(", line):
                waiting[pid] = number
            born = re.match(r"(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)", line)
            if born:
                self._parents.setdefault(int(born[1]), (pid, waiting.get(pid, number)))

    def as_root(self, pid: int, number: int) -> bool:
        """Whether a process had root's rights at a line."""
        while True:
            if self._switched.get(pid, number + 1) <= number:
                return False
            if pid not in self._parents:
                return True
            pid, number = self._parents[pid]

    def offences(self) -> Iterator[str]:
        """Lines in which something in a directory of the account is named with root's rights."""
        theirs: set[str] = set()
        for number, (pid, line) in enumerate(self.lines):
            given = re.match(rf"fchown\(\d+<([^>]*)>, {self.uid}, ", line)
            if given:
                theirs.add(given[1])
            elif self.as_root(pid, number) and any(
                _offends(line, place) for place in theirs if place in line
            ):
                yield line


_LOOKS = ("newfstatat", "lstat", "readlink", "readlinkat", "statx")
_UNFOLLOWED = ("O_NOFOLLOW", "AT_SYMLINK_NOFOLLOW")


def _offends(line: str, place: str) -> bool:
    """Whether a system call names what is in a directory and could be led elsewhere."""
    call = line.partition("(")[0]
    named = re.search(rf'"{re.escape(place)}/([^"]*)"', line)
    if named is not None:  # by a path
        direct = "/" not in named[1].rstrip("/")
        looks = call in _LOOKS and (call[0] in "lr" or _UNFOLLOWED[1] in line)
        return not (direct and (looks or _UNFOLLOWED[0] in line))
    if not re.match(rf'\w+at2?\(\d+<{re.escape(place)}(/[^>]*)?>, "', line):
        return False
    # By a descriptor and a single name; a tree is removed and measured by comparing what was opened
    # with what was looked at before.
    single = re.search(r'>, "([^"]*)"', line)
    changing = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", line)
    if single is None or "/" in single[1]:
        return True
    return call in ("openat", "fchmodat", "linkat") and bool(changing or call != "openat")


def traced(
    path: Path, command: Sequence[str], environment: dict[str, str]
) -> list[tuple[int, str]]:
    """Process and call, of a command that has to succeed."""
    options = ["-f", "-qq", "-y", "--seccomp-bpf", "-s", "4096", "-e", "signal=none"]
    calls = "trace=%file,%creds,fchown,clone,clone3,fork,vfork"
    ended = subprocess.run(
        ["strace", *options, "-e", calls, "-o", str(path), *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    words = ended.stdout.decode(errors="replace")
    if "PTRACE" in words:
        pytest.skip("processes cannot be traced here")
    assert ended.returncode == 0, words
    assert "whole" in words
    lines = path.read_text(errors="replace").splitlines()
    return [(int(pid), call.strip()) for pid, _, call in (line.partition(" ") for line in lines)]


def offences(tmp_path: Path, steps: str) -> list[str]:
    """Of a run's steps."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    with own_cache() as home:
        original = find_postgres("18").create(home / "theirs" / "data", protection="none")
        script = BEGINNING + steps + "print('whole')\n"
        command = [sys.executable, "-c", script, str(original.directory)]
        package = str(Path(steelyard.__file__).parent.parent)
        lines = traced(tmp_path / "trace", command, {**os.environ, "PYTHONPATH": package})
    return list(Trace(lines, choose_account().uid).offences())


def test_no_step_of_a_whole_life_names_anything_in_a_directory_of_the_account(
    tmp_path: Path,
) -> None:
    assert offences(tmp_path, LIFE) == []


def test_each_way_to_name_something_there_is_seen(tmp_path: Path) -> None:
    made = "    data = engine.create(slot.path / 'data', protection='none').directory\n"
    steps = "".join(f"    {step}\n" for _, step in OFFENCES)
    lines = offences(tmp_path, made + steps)
    missed = [name for name, _ in OFFENCES if not any(f'{name}"' in line for line in lines)]
    assert missed == []
