"""`steelyard site` makes the pages; `steelyard serve` shows them to this machine until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from history.made import DAY, keep_record

Said = subprocess.CompletedProcess[str]
Steelyard = Callable[..., Said]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    keep_record(folder / "checksums" / DAY.format(day=1))
    (folder / "torn").mkdir()
    (folder / "torn" / "plan.json").write_text("{")
    return folder


def test_the_path_of_the_wall_is_printed(forked: Steelyard, records: Path) -> None:
    said = forked("site", "-o", "pages")
    assert (said.returncode, said.stdout) == (0, "pages/index.html\n")
    assert said.stderr.startswith("not read: torn: ")
    assert (records.parent / "pages" / "index.html").is_file()
    told = json.loads(forked("site", "-o", "pages", "--json").stdout)
    assert (told["wall"], told["questions"], told["records"]) == ("pages/index.html", 1, 1)
    assert told["unread"][0]["path"] == "torn"


def test_a_folder_with_something_else_is_refused(forked: Steelyard, records: Path) -> None:
    said = forked("site", "-o", "records")
    assert said.returncode == 2
    assert 'folder "records" holds something else than a site' in said.stderr


def test_a_missing_folder_of_records_is_refused(refused: Callable[..., str]) -> None:
    assert "no folder of records" in refused("site", "-o", "pages", status=3)
    assert "no folder of records" in refused("serve", "--port", "0", status=3)


def _as_on_a_terminal() -> None:
    """Ctrl-C reaches the program: a shell that runs tests in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def serving(records: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program as it serves, and its address."""
    command = [sys.executable, "-m", "steelyard", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command,
        cwd=records.parent,
        env={**os.environ, "TMPDIR": str(records.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_as_on_a_terminal,  # noqa: PLW1509  no threads
    ) as program:
        assert program.stdout is not None
        said = program.stdout.readline()
        try:
            yield program, json.loads(said)["address"]
        finally:
            program.kill()


@pytest.mark.long
def test_the_site_is_served_until_ctrl_c_and_leaves_nothing(
    serving: tuple[subprocess.Popen[str], str], records: Path
) -> None:
    program, address = serving
    assert address.startswith("http://127.0.0.1:")
    with urlopen(address, timeout=30) as answer:
        assert b"checksums: off against on" in answer.read()
    assert list(records.parent.glob("steelyard-site-*"))
    program.send_signal(signal.SIGINT)
    _, words = program.communicate(timeout=30)
    assert program.returncode == 130
    assert "Traceback" not in words
    assert not list(records.parent.glob("steelyard-site-*"))
