"""What real pgbench did is captured from a real server's log, and replayed with the same mix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original

pytestmark = [pytest.mark.postgres, pytest.mark.long]

# Times far apart, and long against the microsecond that a log counts in.
SCRIPTS = {
    "point": (
        6,
        "\\set n random(1, 99000)\n"
        "SELECT max(abalance) FROM pgbench_accounts WHERE aid BETWEEN :n AND :n + 300;",
    ),
    "range": (
        3,
        "\\set n random(1, 95000)\n"
        "SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :n AND :n + 4000;",
    ),
    "whole": (1, "SELECT bid, count(*) FROM pgbench_accounts GROUP BY bid;"),
}
LOGGED = (
    "log_min_duration_statement=0", "log_min_messages=log", "logging_collector=on",
    "log_destination=csvlog,jsonlog,stderr", "log_filename=theirs.log",
    "max_parallel_workers_per_gather=0",
)  # fmt: skip
CLIENTS, SECONDS = 4, 10
Kinds = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    """pgbench's tables at scale 1 in a stopped server."""
    home = Path("/tmp") / f"syt-captured-{tmp_path_factory.getbasetemp().name}"
    home.mkdir(mode=0o711)
    try:
        original = original_at(home)
        original.make()
        with original.running():
            original.ask("CREATE DATABASE bank")
            original.program("pgbench", "-i", "-q", "-s", "1", *reached(original), "bank")
        yield original
    finally:
        shutil.rmtree(home, ignore_errors=True)


def reached(bank: Original) -> list[str]:
    return ["-h", str(bank.sockets), "-p", str(PORT), "-U", OWNER]


def steelyard(*words: str, directory: Path) -> Any:
    """What a command says as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words, "--json"],
        cwd=directory,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counted(captured: Any) -> dict[str, int]:
    return {one["script"]: one["count"] for one in captured["kinds"]}


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_a_captured_mix_is_replayed_with_its_shares(
    bank: Original, tmp_path: Path, protocol: str
) -> None:
    """Shares within their chance, and the order of the median times of kinds; how near their ratios
    are depends on what the machine does beside it."""
    captured = captured_of_pgbench(bank, tmp_path, protocol)
    again = captured_again(bank, tmp_path)
    require_shares(captured, again)
    assert by_time(captured) == by_time(again)


def captured_of_pgbench(bank: Original, place: Path, protocol: str) -> Kinds:
    """What was captured, by each of three formats of one log, of a run of pgbench; by fingerprint.
    The workload is in `place`/made-csv."""
    home = place_for_server(bank, "scripts")
    for name, (_, text) in SCRIPTS.items():
        (home / name).write_text(text + "\n")
        (home / name).chmod(0o644)
    given = [part for name, (w, _) in SCRIPTS.items() for part in ("-f", f"{home / name}@{w}")]
    with logged(bank, place):
        bank.program(
            "pgbench", "-n", "-c", str(CLIENTS), "-T", str(SECONDS), "-M", protocol, *given,
            *reached(bank), "bank",
        )  # fmt: skip
    found = {suffix: capture(place, suffix) for suffix in ("csv", "json", "log")}
    assert counted(found["csv"]) == counted(found["json"])
    captured = {one["fingerprint"]: one for one in found["csv"]["kinds"]}
    assert len(captured) == 3
    assert found["csv"]["mode"] == protocol
    assert {one["count"] for one in found["log"]["kinds"]} >= {
        one["count"] for one in captured.values()
    }
    return captured


def captured_again(bank: Original, place: Path) -> Kinds:
    """What is captured of the workload that was made; by fingerprint."""
    with logged(bank, place):
        driven = steelyard(
            "drive", "-w", str(place / "made-csv"),
            f"host={bank.sockets} port={PORT} user={OWNER} dbname=bank",
            "-c", str(CLIENTS), "-j", "2", "-T", str(SECONDS), directory=place,
        )  # fmt: skip
    assert driven["errors"] == {}
    return {one["fingerprint"]: one for one in capture(place, "csv", "again")["kinds"]}


def place_for_server(bank: Original, name: str) -> Path:
    """A new folder of the server's owner; one that was there is deleted."""
    home = bank.sockets / name
    shutil.rmtree(home, ignore_errors=True)
    bank.account.make_directory(home)
    return home


@contextmanager
def logged(bank: Original, place: Path) -> Iterator[None]:
    """The server writes its log in three formats; afterwards they are in `place`."""
    logs = place_for_server(bank, "logs")
    with bank.running(*LOGGED, f"log_directory={logs}"):
        yield
    for suffix in ("csv", "json", "log"):
        (place / f"theirs.{suffix}").write_bytes((logs / f"theirs.{suffix}").read_bytes())


def capture(place: Path, suffix: str, made: str = "made") -> Any:
    """What `workloads capture` says of the log in `place`."""
    words = [] if suffix == "log" else ["--database", "bank"]
    log, folder = place / f"theirs.{suffix}", place / f"{made}-{suffix}"
    return steelyard("workloads", "capture", str(log), "-o", str(folder), *words, directory=place)


def require_shares(captured: Kinds, again: Kinds) -> None:
    before = sum(one["count"] for one in captured.values())
    after = sum(one["count"] for one in again.values())
    for fingerprint, one in captured.items():
        share, replayed = one["count"] / before, again[fingerprint]["count"] / after
        spread = (share * (1 - share) * (1 / before + 1 / after)) ** 0.5
        assert abs(share - replayed) < 5 * spread, one["script"]


def by_time(kinds: Kinds) -> list[str]:
    """Kinds, the quickest first: their times are far apart."""
    return sorted(kinds, key=lambda fingerprint: float(kinds[fingerprint]["median_ms"]))


def test_writes_are_tried_on_a_copy_and_what_fails_there_is_left_out(
    bank: Original, tmp_path: Path
) -> None:
    """The copy was taken after the log: its inserted keys are there already."""
    with bank.running():
        bank.ask("CREATE TABLE notes (id int PRIMARY KEY, words text)", "bank")
    with bank.running(*LOGGED, "log_directory=log-writes"):
        for n in range(1, 31):
            bank.ask(f"UPDATE pgbench_accounts SET abalance = 7 WHERE aid = {n}", "bank")
            bank.ask(f"SELECT abalance FROM pgbench_accounts WHERE aid = {n}", "bank")
            bank.ask(f"INSERT INTO notes VALUES ({n}, 'note')", "bank")
    log = tmp_path / "theirs.csv"
    log.write_bytes((bank.directory / "log-writes" / "theirs.csv").read_bytes())
    words = ("workloads", "capture", str(log), "-o", str(tmp_path / "ours"), "--database", "bank")
    captured = steelyard(*words, "--writes", directory=tmp_path)
    assert sum(one["writes"] for one in captured["kinds"]) == 2
    said = steelyard(
        "weigh", "settings", "--from", str(bank.directory), "--database", "bank",
        "--workload", str(tmp_path / "ours"), "--set", "arm.settings.work_mem=8MB",
        "--set", "workload.clients=2", "--set", "layout=slices", "--set", "budget.slice=50ms",
        "--budget", "20s", "--record", str(tmp_path / "record"), directory=tmp_path,
    )  # fmt: skip
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())
    [out] = plan["left_out"]
    assert "insert-notes" in out["script"]
    assert out["share"] == pytest.approx(1 / 3)
    assert out["failed"] == out["tries"] == 5
    assert "duplicate key" in out["error"]
    assert "23505" in out["error"]
    [contrast] = said["contrasts"]
    assert not [one for one in contrast["threats"] if "error" in one["name"]]
    slices = (tmp_path / "record" / "slices.jsonl").read_text().splitlines()
    driven = {one["name"] for line in slices for one in json.loads(line)["scripts"]}
    assert len(driven) == 2
    assert out["script"] not in driven
    with bank.running():
        refused = subprocess.run(
            [sys.executable, "-m", "steelyard", "drive", "-w", str(tmp_path / "ours"), "-t", "1",
             f"host={bank.sockets} port={PORT} user={OWNER} dbname=bank"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert refused.returncode == 2
    assert "captured with transactions that write" in refused.stderr
