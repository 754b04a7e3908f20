"""Servers that are not ours keep no command waiting, take no memory, and cannot swallow Ctrl-C.

Promise: SAFETY.md, "Servers and files of others". Modes of fake_postgres.py.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from hostile.fake_postgres import AT_LOGIN, AT_QUERIES, Mode, serving, well_at_first
from steelyard.engines.account import choose_account
from steelyard.engines.loading import LoadedData
from steelyard.engines.postgres.guarded.connection import guarded
from steelyard.engines.postgres.guarded.watched_process import LimitError
from steelyard.engines.postgres.intake import base_backup
from steelyard.engines.postgres.intake.base_backup import run_backup
from steelyard.engines.postgres.intake.running import RunningServer, back_up
from steelyard.model.errors import ServerError
from steelyard.model.secrets.secret import Secret
from thinned import thinned

SETTINGS = ("weigh", "settings", "--set", "arm.settings.random_page_cost=3")
"""Two arms that are not equal."""
MOST_BYTES = 300 << 20
"""Of each process: a command has two, the larger of which is the one of the connection."""
_HEEDING = """
import atexit, pathlib, resource, signal
signal.signal(signal.SIGINT, signal.default_int_handler)

def write_peak():
    "In kB, of this program and its children; ru_maxrss of this one would be its parent's."
    own = pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    childrens = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    pathlib.Path("peak").write_text(f"{own} {childrens}")

atexit.register(write_peak)
from steelyard.cli.app import main
main()
"""
SILENT, ENDLESS = AT_QUERIES["never answers a query"], AT_QUERIES["rows without end"]
EVERY = {
    **AT_LOGIN,
    **AT_QUERIES,
    "silence after good answers": well_at_first(2, SILENT),
    "rows without end after good answers": well_at_first(2, ENDLESS),
}


def _conninfo(port: int, timeout_s: int = 10) -> str:
    return f"host=127.0.0.1 port={port} user=u dbname=d password=p connect_timeout={timeout_s}"


@thinned("mode", EVERY.values(), 5, ids=EVERY)
def test_whatever_a_server_does_a_control_connection_ends_with_an_error(mode: Mode) -> None:
    with serving(mode) as port, pytest.raises((psycopg.Error, LimitError)) as raised:
        _ask_thrice(port)  # those that are well at first, the third time are not
    assert 0 < len(str(raised.value)) < 10_000
    if isinstance(raised.value, LimitError):
        assert '"here"' in raised.value.primary
        assert raised.value.hint


def _ask_thrice(port: int) -> None:
    for _ in range(3):
        with (
            guarded(_conninfo(port, 2), where="here", answer_s=2) as session,
            suppress(psycopg.errors.UndefinedTable),  # well answered
        ):
            session.execute("SELECT 1")


def test_a_server_that_sends_rows_without_end_is_left_before_its_rows_fill_the_memory() -> None:
    with serving(ENDLESS) as port, guarded(_conninfo(port), where="here") as session:
        with pytest.raises(LimitError, match="more data than"):
            session.execute("SELECT 1")
        assert session.closed


def test_an_error_of_the_server_stays_an_error_of_psycopg_with_its_parts() -> None:
    with (
        serving(well_at_first(1, SILENT)) as port,
        guarded(_conninfo(port), where="here") as session,
    ):
        with pytest.raises(psycopg.errors.UndefinedTable) as raised:
            session.execute("SELECT 1")
        assert raised.value.diag.message_primary == "not here"
        assert not session.closed


def test_a_time_to_connect_that_the_user_gives_is_kept() -> None:
    began = time.monotonic()
    with (
        serving(AT_LOGIN["accepts and never speaks"]) as port,
        pytest.raises(LimitError, match="does not let us in within 1 s"),
    ):
        guarded(_conninfo(port, 1), where="here")
    assert time.monotonic() - began < 9  # not the 10 s that would be waited otherwise


COMMANDS = {
    "weigh sessions": [
        *("weigh", "sessions", "--address", "{}", "-f", "q.sql", "--budget", "20s"),
        *("--set", "control.settings.jit=on", "--set", "arm.settings.jit=off"),
    ],
    "weigh addresses": [
        *("weigh", "addresses", "--control", "address={}", "--arm", "address={}"),
        *("--set", "arm.settings.work_mem=8MB", "-f", "q.sql", "--budget", "20s"),
    ],
    "weigh --from": [*SETTINGS, "--from", "{}", "--yes", "-f", "q.sql"],
    "workloads load": ["workloads", "load", "pgbench", "{}", "--yes"],
    "workloads capture": ["workloads", "capture", "{}", "-o", "captured"],
    "drive": ["drive", "{}", "-f", "q.sql", "-T", "1"],
    "drive -w": ["drive", "{}", "-w", "pgbench", "-T", "1"],
    "two hosts": ["drive", "{two}", "-f", "q.sql", "-T", "1"],
}


def _words(command: str, port: int) -> list[str]:
    conninfo = _conninfo(port)
    two = conninfo.replace("127.0.0.1", "127.0.0.1,127.0.0.1").replace(
        f"port={port}", f"port={port},{port}"
    )
    return [word.replace("{}", conninfo).replace("{two}", two) for word in COMMANDS[command]]


@contextmanager
def _called(command: str, port: int, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    (directory / "q.sql").write_text("SELECT 1;\n")
    with subprocess.Popen(
        [sys.executable, "-c", _HEEDING, *_words(command, port)],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


_CALLS = [
    *((command, "accepts and never speaks") for command in COMMANDS if command != "two hosts"),
    *((command, "2,000,000,000 SCRAM iterations") for command in COMMANDS),
    *(
        (command, "a row of 2 GB")
        for command in COMMANDS
        if not command.startswith(("drive", "two"))
    ),
    ("weigh sessions", "rows without end after good answers"),
    ("weigh --from", "notices without end"),
    ("workloads load", "an error of 100 MB"),
]


@pytest.mark.long
@pytest.mark.parametrize(("command", "mode"), _CALLS)
def test_a_command_ends_with_an_error_within_the_memory_that_it_may_take(
    command: str, mode: str, tmp_path: Path
) -> None:
    with serving(EVERY[mode]) as port, _called(command, port, tmp_path) as process:
        written, _ = process.communicate(timeout=120)
    said = written.decode(errors="replace")
    assert process.returncode in (2, 3), said
    assert "error: " in said
    assert "Traceback" not in said
    assert len(said) < 10_000
    assert max(map(int, (tmp_path / "peak").read_text().split())) * 1024 < MOST_BYTES


@pytest.mark.long
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "drive"])
@pytest.mark.parametrize("mode", ["2,000,000,000 SCRAM iterations", "notices without end"])
def test_ctrl_c_ends_a_command_whatever_its_server_does(
    command: str, mode: str, tmp_path: Path
) -> None:
    reached: list[bool] = []

    def noticed(client: object) -> None:
        reached.append(True)
        EVERY[mode](client)  # type: ignore[arg-type]

    with serving(noticed) as port, _called(command, port, tmp_path) as process:
        while not reached and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        written, _ = process.communicate(timeout=30)
    said = written.decode(errors="replace")
    assert process.returncode in (130, 3), said  # 3: it had been refused before
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("program", "limits", "words"),
    [
        ("sleep 60", {"still_s": 0.5}, "it sent nothing for"),
        ("trap '' TERM; sleep 60", {"still_s": 0.5}, "it sent nothing for"),
    ],
)
def test_a_backup_that_does_not_go_on_is_ended(
    program: str,
    limits: dict[str, float],
    words: str,
    open_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base_backup, "_TERMINATED_S", 0.5)
    with pytest.raises(ServerError, match=words):
        run_backup(
            choose_account(), ["sh", "-c", program], {"PATH": "/usr/bin:/bin"}, open_home, **limits
        )


@pytest.mark.long
@pytest.mark.parametrize(
    "mode",
    [
        "accepts and never speaks",
        "2,000,000,000 SCRAM iterations",
        "rows without end",
        "notices without end",
        "a row of 2 GB",
        "closes in a row",
    ],
)
def test_a_server_that_answers_well_and_misbehaves_in_its_backup_is_left(
    mode: str, open_home: Path
) -> None:
    directory = open_home / "backup"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with serving(EVERY[mode]) as port:
        server = RunningServer(_conninfo(port, 2), Secret("p"), "18.0", 1, (), (), "postgres", {})
        with pytest.raises(ServerError, match="could not take a base backup"):
            back_up(server, directory)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # by a fork
    assert largest <= max(before, inherited) or largest * 1024 < MOST_BYTES
    assert not (directory / "data" / "PG_VERSION").exists()


@pytest.mark.long
def test_the_last_words_of_a_backup_are_kept_however_many_it_says(open_home: Path) -> None:
    status, words = run_backup(
        choose_account(),
        ["sh", "-c", "yes word | head -c 5000000 >&2; echo last words >&2; exit 7"],
        {"PATH": "/usr/bin:/bin"},
        open_home,
    )
    assert status == 7
    assert words.rstrip().endswith("last words")
    assert len(words) < 10_000


DEEP = "[" * 100_000
MARKERS = {
    "no values": [],
    "too few": ["pgbench", 1, 7],
    "too many": ["pgbench", 1, 7, "abc", None, "more"],
    "a scale that is a text": ["pgbench", "1", 7, "abc"],
    "no digest": ["pgbench", 1, 7, None],
    "options nested 100,000 deep": ["pgbench", 1, 7, "abc", DEEP],
    "options that are no object": ["pgbench", 1, 7, "abc", "[]"],
    "options that are no JSON": ["pgbench", 1, 7, "abc", "profile"],
}


@pytest.mark.parametrize("values", MARKERS.values(), ids=MARKERS)
def test_a_marker_that_is_not_ours_is_refused(values: list[object]) -> None:
    with pytest.raises(ServerError, match="its marker is not ours"):
        LoadedData.read(values)


@pytest.mark.parametrize("options", [[], [None], ['{"profile": "spec"}']])
def test_a_marker_of_ours_is_read_with_or_without_its_options(options: list[str | None]) -> None:
    read = LoadedData.read(["pgbench", 1, 7, "abc", *options])
    assert read == LoadedData("pgbench", 1, 7, "abc", *options)
