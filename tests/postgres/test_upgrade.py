"""A rehearsed upgrade that is interrupted leaves nothing, and the original as it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.original import Original
from engines.postgres.upgrade.rich_cluster import fingerprint, rich_cluster
from steelyard.engines.account import choose_account
from steelyard.engines.local.process_cleanup import EVERY_PROGRAM, programs_inside

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def original() -> Iterator[Original]:
    home = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    home.chmod(0o711)
    try:
        with rich_cluster(home, "16", prepared=True) as made:
            yield made
    finally:
        shutil.rmtree(home, ignore_errors=True)


def begin(
    cache: Path, original: Original, *words: str, directory: Path, running: bool = False
) -> subprocess.Popen[str]:
    """The command, its words on standard error one by one; on the directory or on its server."""
    place = original.target if running else str(original.directory)
    source = ("--from", place, "--to", "18")
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", "upgrade", *source, *words],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def await_words(process: subprocess.Popen[str], phase: str) -> None:
    """Read standard error until a line begins with these words."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith(phase):
            return
    raise AssertionError(f'never at "{phase}":\n{"".join(seen)}')


def left_in(cache: Path) -> list[str]:
    """Directories of rehearsals, and processes that work in them."""
    runs = [path.name for path in (cache / "run").iterdir() if path.is_dir()]
    return [*runs, *map(str, programs_inside(cache, choose_account(), EVERY_PROGRAM))]


PHASES = (
    ("compare the settings", signal.SIGINT),
    ("copy the data", signal.SIGTERM),
    ("recover the copy", signal.SIGINT),
    ("read what is in the copy", signal.SIGINT),
    ("pg_upgrade --check: checks", signal.SIGINT),
    ("pg_upgrade --link: dump of the schema", signal.SIGHUP),
    ("pg_upgrade --link: restore of the schema", signal.SIGINT),
    ("vacuumdb", signal.SIGTERM),
    ("pg_checksums --enable", signal.SIGINT),
)


@pytest.mark.long
@pytest.mark.parametrize(("phase", "number"), PHASES, ids=[phase for phase, _ in PHASES])
def test_interrupted_in_a_phase_it_leaves_nothing(
    original: Original, weighing_cache: Path, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    before = fingerprint(original.sockets)
    process = begin(weighing_cache, original, "--way", "link", directory=tmp_path)
    await_words(process, phase)
    process.send_signal(number)
    printed, words = process.communicate(timeout=120)
    assert process.returncode in (130, 128 + number), words
    assert (printed, "Traceback" in words) == ("", False)
    assert left_in(weighing_cache) == []
    assert fingerprint(original.sockets) == before


@pytest.mark.long
def test_killed_it_is_cleaned_up_by_the_next_one_which_answers_on_one_page(
    original: Original, weighing_cache: Path, tmp_path: Path
) -> None:
    before = fingerprint(original.sockets)
    killed = begin(weighing_cache, original, "--way", "copy", directory=tmp_path)
    await_words(killed, "pg_upgrade --copy: restore of the schema")
    killed.kill()
    killed.communicate()
    assert left_in(weighing_cache) != []

    words = ("--way", "copy", "--json", "-o", "page.html")
    again = begin(weighing_cache, original, *words, directory=tmp_path)
    printed, said = again.communicate(timeout=900)
    assert again.returncode == 1, said
    answer = json.loads(printed)
    assert answer["answer"] == "after"
    assert [each["what"][:8] for each in answer["findings"] if each["level"] == "blocks"] == [
        "prepared"
    ]
    page = (tmp_path / "page.html").read_text()
    assert "Upgrade Complete" in page
    assert str(weighing_cache) not in page
    assert left_in(weighing_cache) == []
    assert fingerprint(original.sockets) == before


@pytest.mark.long
def test_a_running_server_is_copied_its_slots_are_named_and_the_copy_is_removed(
    original: Original, weighing_cache: Path, tmp_path: Path
) -> None:
    words = ("--way", "copy", "--yes", "--json")
    with original.running():
        process = begin(weighing_cache, original, *words, directory=tmp_path, running=True)
        printed, shown = process.communicate(timeout=900)
        assert original.ask("SELECT slot_name FROM pg_replication_slots") == [("standby1",)]
    assert process.returncode == 1, shown
    answer = json.loads(printed)
    assert answer["answer"] == "after"
    assert any("standby1 (physical)" in each["what"] for each in answer["findings"])
    assert not any("shut down" in each["what"] for each in answer["findings"])
    assert left_in(weighing_cache) == []
    assert list((weighing_cache / "templates").glob("backup-*")) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--way", "teleport"), "unknown way"),
        (("-o", "page.pdf"), ".md or .html"),
        (("--new-bindir", "/nowhere"), "no PostgreSQL in directory"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_copied(
    original: Original, weighing_cache: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    process = begin(weighing_cache, original, *words, directory=tmp_path)
    _, shown = process.communicate(timeout=60)
    assert process.returncode in (2, 3), shown
    assert said in shown
    assert "copy the data" not in shown
