"""An agent weighs one cell at a time on its host and hands its record over, file by file; nothing
of a weighing is left, however its agent ends."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from own_cache import open_directory
from steelyard.engines.file_lock import is_locked
from steelyard.fleet.matrix.host_agent import HostAgent, JobStatus
from steelyard.fleet.matrix.matrix import MatrixCell
from thinned import thinned

QUICK = ("workload.scale=1", "workload.clients=2", "budget.measuring=20s", "budget.slice=50ms")
HELD_BY_A_KEEPER = """
import sys, time
from pathlib import Path
from steelyard.fleet.matrix.host_agent import HostAgent
from steelyard.fleet.matrix.matrix import MatrixCell
agent = HostAgent(Path(sys.argv[1]))
assert agent.begin(MatrixCell("aa", (), "any", None, 0, 7, {changes!r}))
print("begun", flush=True)
time.sleep(600)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[HostAgent]:
    made = HostAgent(tmp_path / "cache" / "lock")
    yield made
    made.end()


def _cell(
    study: str, files: tuple[tuple[str, str], ...] = (), changes: tuple[str, ...] = ()
) -> MatrixCell:
    return MatrixCell(study, files, "any", None, 0, 7, changes)


def _ended(agent: HostAgent, patience_s: float) -> JobStatus:
    deadline = time.monotonic() + patience_s
    while (seen := agent.job_status()).status is None:
        assert time.monotonic() < deadline, seen.output_end
        time.sleep(0.1)
    return seen


def _until(holds: Callable[[], bool], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _processes_of(folder: Path) -> list[psutil.Process]:
    """Whatever was started with this folder in its words, or works in it."""
    found = []
    for one in psutil.process_iter():
        try:
            if one.pid != os.getpid() and (
                str(folder) in " ".join(one.cmdline()) or one.cwd().startswith(str(folder))
            ):
                found.append(one)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_study_that_is_wrong_fails_with_its_words(agent: HostAgent, tmp_path: Path) -> None:
    assert agent.begin(_cell("./mine.toml", (("mine.toml", "nonsense = 1\n"),)))
    seen = _ended(agent, 120)
    assert seen.status == 2
    assert 'mine.toml: missing keys: "title", "question"' in seen.output_end
    assert is_locked(tmp_path / "cache" / "lock"), "until its record was fetched"
    agent.end()
    assert not is_locked(tmp_path / "cache" / "lock")
    assert [one.name for one in (tmp_path / "cache").iterdir()] == ["lock"]


def test_files_of_a_cell_stand_in_its_folder_and_what_another_one_left_does_not(
    agent: HostAgent, tmp_path: Path
) -> None:
    left = tmp_path / "cache" / "fleet" / "record" / "verdict.json"
    left.parent.mkdir(parents=True)
    left.write_text("of an agent that was killed with its watcher")
    assert agent.begin(_cell("./mine.toml", (("deep/q.sql", "SELECT 1;"), ("mine.toml", ""))))
    assert (tmp_path / "cache" / "fleet" / "deep" / "q.sql").read_text() == "SELECT 1;"
    assert not left.exists()


@pytest.mark.postgres
def test_a_weighing_whose_watcher_was_killed_has_failed(agent: HostAgent, tmp_path: Path) -> None:
    assert agent.begin(_cell("aa"))
    folder = tmp_path / "cache" / "fleet"
    _until(lambda: any(_weighings(folder)), 30)
    [weighing] = _weighings(folder)
    watcher = weighing.parent()
    assert watcher is not None
    assert "steelyard.fleet.matrix.watcher" in _words(watcher)
    assert watcher.ppid() != os.getpid(), "Ray kills the children of a worker that ends"
    watcher.kill()
    assert _ended(agent, 30).status == -signal.SIGKILL
    agent.end()
    _until(lambda: not is_locked(tmp_path / "cache" / "lock"), 60)


@pytest.mark.postgres
def test_one_weighing_at_a_time_runs_on_a_host_whoever_keeps_it(
    agent: HostAgent, tmp_path: Path
) -> None:
    other = HostAgent(tmp_path / "cache" / "lock")
    assert agent.begin(_cell("aa"))
    assert not agent.begin(_cell("aa"))
    assert not other.begin(_cell("aa"))
    assert is_locked(tmp_path / "cache" / "lock")
    agent.end()
    assert not is_locked(tmp_path / "cache" / "lock")
    assert other.begin(_cell("aa"))
    other.end()


@pytest.mark.postgres
@thinned("stubborn", [False, True], 1, ids=["ends when told", "has to be killed"])
def test_a_agent_that_is_killed_leaves_no_server_no_folder_and_no_lock(
    tmp_path: Path, stubborn: bool
) -> None:
    lock = tmp_path / "lock"
    with _held(lock) as (program, cache):
        _until(lambda: any(_servers(cache)), 120)
        servers = [*_servers(cache)]
        [weighing] = _weighings(tmp_path / "fleet")
        if stubborn:
            weighing.kill()  # as the watcher does where it does not end in time
        program.kill()
        program.wait()
        _until(lambda: not is_locked(lock), 90)
        assert not (tmp_path / "fleet").exists()
        assert _processes_of(tmp_path / "fleet") == []
        assert [one for one in servers if _runs(one)] == []
        assert [one.name for one in (cache / "run").iterdir() if one.is_dir()] == []


@contextmanager
def _held(lock: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A program with an agent that has begun a weighing, and the cache of its host."""
    code = HELD_BY_A_KEEPER.format(changes=QUICK)
    with open_directory() as cache:
        program = subprocess.Popen(
            [sys.executable, "-c", code, str(lock)],
            env={**os.environ, "STEELYARD_CACHE": str(cache)},
            stdout=subprocess.PIPE,
        )
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == b"begun\n"
            yield program, cache
        finally:
            program.kill()
            program.wait()
            _until(lambda: not is_locked(lock), 90)


def _weighings(folder: Path) -> list[psutil.Process]:
    """Those that work there."""
    command = ["-m", "steelyard", "weigh"]
    return [one for one in _processes_of(folder) if _words(one)[1:4] == command]


def _runs(process: psutil.Process) -> bool:
    """Whether it does: one that has ended may wait for whoever became its parent."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _words(process: psutil.Process) -> list[str]:
    """Of its command; none of one that is gone."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def _servers(cache: Path) -> Iterator[psutil.Process]:
    """Of PostgreSQL, whose data stands there."""
    for one in psutil.process_iter():
        words = _words(one)
        if "postgres" in "".join(words[:1]) and str(cache) in " ".join(words):
            yield one


@pytest.mark.postgres
@pytest.mark.long
def test_a_record_is_handed_over_as_it_stands(agent: HostAgent) -> None:
    assert agent.begin(_cell("aa", changes=QUICK))
    seen = _ended(agent, 600)
    assert seen.status == 0, seen.output_end
    files = agent.manifest()
    assert {"plan.json", "slices.jsonl", "verdict.json", "study.toml"} <= set(files)
    assert files["plan.json"].modified_ns <= files["verdict.json"].modified_ns
    for name, kept in files.items():
        found = b""
        while piece := agent.chunk(name, len(found)):
            found += piece
        assert (len(found), hashlib.sha256(found).hexdigest()) == (kept.size_bytes, kept.sha256)
