"""Logs of a real server in other languages are captured as its English one is."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import psycopg
import pytest

from engines.postgres.intake.original import PORT
from own_cache import open_directory
from steelyard.engines.account import choose_account
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.programs import CLEAN_ENVIRONMENT, run
from steelyard.model.errors import EngineError
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions
from thinned import thinned

pytestmark = pytest.mark.postgres

VERSIONS = ("18", "17", "16", "15")
SETTINGS = (
    "log_min_duration_statement=0", "logging_collector=on", "log_directory=log",
    "log_destination=csvlog,jsonlog,stderr", "log_filename=own.log", "lc_messages=C.UTF-8",
    "log_connections=on", "log_disconnections=on", "listen_addresses=",
)  # fmt: skip


def translated_build() -> Path:
    """Programs of a build with messages in other languages; skips without."""
    for version in VERSIONS:
        with contextlib.suppress(EngineError):
            identity = find_postgres(version).identity
            if "--enable-nls" in identity.configure:
                return Path(identity.bindir)
    pytest.skip("no build has messages in other languages (--enable-nls)")


def work(sockets: Path, port: int = PORT) -> None:
    """Statements by every protocol, a transaction that fails, and one that stays open."""
    target = f"host={sockets} port={port} user=postgres dbname=postgres"
    with psycopg.connect(target, autocommit=True) as session:
        session.execute("CREATE TABLE IF NOT EXISTS t (id int, s text)")
        for number in range(4):
            session.execute(f"SELECT id\n  FROM t WHERE s = 'Dauer: {number}.0 ms'".encode())
            session.execute("SELECT id FROM t WHERE id = %s AND s = %s", [number, "it's"])
            session.execute("SELECT s FROM t WHERE id = %s", [number], prepare=True)
        for text in ("BEGIN", "BEGIN", "SELECT 1 / 0", "ROLLBACK", "BEGIN", "SELECT 2"):
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                session.execute(text.encode())


def captured(log: Path) -> Mix:
    ledger = CaptureLedger()
    return mix_of(transactions(statements(read_entries([log]), ledger)), ledger=ledger)


def shown(mix: Mix) -> tuple[object, ...]:
    """What was captured, times aside."""
    kinds = [(kind.fingerprint, kind.count, sorted(map(str, kind.rows))) for kind in mix.kinds]
    return sorted(kinds), dict(mix.ledger.statements), mix.ledger.read


def logged(bindir: Path, language: str) -> dict[str, tuple[object, ...]]:
    """By format what is captured of the work on a server of a language."""
    account = choose_account()
    with open_directory() as home:
        account.own(home)
        data = home / "data"
        environment = {**CLEAN_ENVIRONMENT, "LC_ALL": "C.UTF-8", "LANGUAGE": language}

        def program(*words: str) -> None:
            status, said = run(
                account, words, directory=home, environment=environment, timeout_s=120
            )
            assert status == 0, said

        program(str(bindir / "initdb"), "-U", "postgres", "-A", "trust", "-N", "-D", str(data))
        options = [f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={home}")]
        words = " ".join([f"-p {PORT}", *options])
        control = (str(bindir / "pg_ctl"), "-D", str(data), "-w")
        program(*control, "-l", str(home / "start"), "-o", words, "start")
        try:
            work(home)
        finally:
            program(*control, "-m", "fast", "stop")
        copies = home / "copies"
        shutil.copytree(data / "log", copies)
        text = (copies / "own.log").read_text()
        if language != "C" and "duration: " in text:
            pytest.skip(f"the build's messages are not installed in {language}")
        return {
            suffix: shown(captured(copies / f"own.{suffix}")) for suffix in ("log", "csv", "json")
        }


@pytest.fixture(scope="module")
def english() -> tuple[object, ...]:
    formats = logged(translated_build(), "C")
    assert formats["csv"] == formats["json"] == formats["log"]
    return formats["csv"]


@thinned("language", ["de", "fr", "ja", "ru", "ko", "zh_CN"], 2)
def test_a_log_in_another_language_is_captured_as_the_english_one(
    english: tuple[object, ...], language: str
) -> None:
    for suffix, found in logged(translated_build(), language).items():
        assert found == english, suffix
