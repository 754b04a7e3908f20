"""A rehearsed upgrade that is interrupted leaves nothing, and the original as it was; the commands
of its page do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.original import PORT, Original
from engines.postgres.upgrade.rich_cluster import fingerprint, rich_cluster
from steelyard.engines.account import choose_account
from steelyard.engines.local.processes import EVERY_PROGRAM, programs_inside
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.programs import run
from thinned import thinned

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


@thinned(
    ("words", "said"),
    [
        (("--way", "teleport"), "unknown way"),
        (("-o", "page.pdf"), ".md or .html"),
        (("--new-bindir", "/nowhere"), "no PostgreSQL in directory"),
    ],
    1,
)
def test_wrong_options_are_refused_before_anything_is_copied(
    original: Original, weighing_cache: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    process = begin(weighing_cache, original, *words, directory=tmp_path)
    _, shown = process.communicate(timeout=60)
    assert process.returncode in (2, 3), shown
    assert said in shown
    assert "copy the data" not in shown


@pytest.fixture
def expendable() -> Iterator[Original]:
    home = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    home.chmod(0o711)
    try:
        with rich_cluster(home, "16") as made:
            yield made
    finally:
        shutil.rmtree(home, ignore_errors=True)


def commands_below(page: str, title: str) -> list[str]:
    """The commands of a section of a page in Markdown, as a shell reads them."""
    section = page.partition(f"## {title}")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)\n```", section, re.S)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines()]


@pytest.mark.long
def test_the_commands_of_the_page_upgrade_the_original(
    expendable: Original, weighing_cache: Path, tmp_path: Path
) -> None:
    words = ("--way", "copy", "-o", "page.md")
    process = begin(weighing_cache, expendable, *words, directory=tmp_path)
    _, shown = process.communicate(timeout=900)
    assert process.returncode == 0, shown
    page = (tmp_path / "page.md").read_text()
    lines = commands_below(page, "What to do")
    assert [Path(shlex.split(line)[0]).name for line in lines] == [
        *("initdb", "pg_upgrade", "pg_ctl", "pg_upgrade", "pg_ctl", "vacuumdb", "vacuumdb"),
    ]
    new, build = expendable.sockets / "new", find_postgres("18").build
    placed = f"port = {PORT}\nunix_socket_directories = '{expendable.sockets}'\n"
    placed += "listen_addresses = ''\n"
    own = expendable.directory / "postgresql.conf"
    own.write_text(own.read_text() + placed)
    script = [
        "set -e",
        f"export PGHOST={expendable.sockets} PGPORT={PORT}",
        f"export LD_LIBRARY_PATH={_libraries(expendable.library_path, build.environment)}",
        f"OLD_BIN/pg_ctl -D {expendable.directory} -w -l old.log start",
        *lines[:2],
        f"printf {shlex.quote(placed.replace(chr(10), chr(92) + 'n'))} >> NEW_DATA/postgresql.conf",
        *(f"{line} -l new.log" if "-w start" in line else line for line in lines[2:]),
    ]
    text = "\n".join(script).replace("NEW_DATA", str(new))
    text = text.replace("OLD_BIN", str(expendable.bindir)).replace("NEW_BIN", str(build.bindir))
    status, said = run(
        expendable.account,
        ["/bin/bash", "-c", text],
        directory=expendable.sockets,
        environment={"PATH": os.environ["PATH"]},
        timeout_s=600,
    )
    try:
        assert status == 0, said
        assert expendable.ask("SELECT count(*) FROM items", "shop") == [(500,)]
        [(version,)] = expendable.ask("SHOW server_version")
        assert str(version).startswith("18")
    finally:
        stop = [build.program("pg_ctl"), "-D", str(new), "-m", "fast", "-w", "stop"]
        run(expendable.account, stop, directory=expendable.sockets, environment=build.environment)


def _libraries(*environments: dict[str, str]) -> str:
    return ":".join(filter(None, (each.get("LD_LIBRARY_PATH") for each in environments)))


@pytest.mark.long
def test_the_command_that_the_page_proposes_weighs_the_users_own_work(
    expendable: Original, weighing_cache: Path, tmp_path: Path
) -> None:
    before = fingerprint(expendable.sockets)
    process = begin(weighing_cache, expendable, "--way", "link", "-o", "a.md", directory=tmp_path)
    _, shown = process.communicate(timeout=900)
    assert process.returncode == 0, shown
    proposed, alone = commands_below((tmp_path / "a.md").read_text(), "Faster or slower for you")
    (tmp_path / "YOUR.sql").write_text("SELECT count(*) FROM items WHERE id < 100;\n")
    short = "--budget 20s --set layout=slices --set budget.epochs=2 --set workload.loads=1"
    pasted = shlex.split(proposed.replace("--budget 20m", short))
    assert pasted[:2] == ["steelyard", "upgrade"]
    weighing = subprocess.run(
        [sys.executable, "-m", *pasted, "--way", "link", "--json", "-o", "b.md"],
        env={**os.environ, "STEELYARD_CACHE": str(weighing_cache)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert weighing.returncode == 0, weighing.stderr
    verdict = json.loads(weighing.stdout)["weighing"]
    names = ["16.14+checksums=off", *(f"18.4+checksums={x}" for x in ("off", "on"))]
    assert [each["arm"] for each in verdict["contrasts"]] == [
        *names[1:],
        "18.4+checksums=off+as-shipped",
    ]
    assert {each["control"] for each in verdict["contrasts"]} == {names[0]}
    assert [each["control"] for each in verdict["pairs"]] == [names[1]] * 2
    changed = dict(verdict["defaults"]["changed"])[names[1]]
    assert any(name == "effective_io_concurrency" for name, *_ in changed)
    page = (tmp_path / "b.md").read_text()
    assert "checksums alone" in page
    [again] = commands_below(page, "Faster or slower for you")
    assert set(shlex.split(alone)) - set(shlex.split(again)) == {"20m"}
    assert (tmp_path / verdict["record"] / "report.html").is_file()
    assert left_in(weighing_cache) == []
    assert fingerprint(expendable.sockets) == before
