"""Hostile dumps: nothing of them runs with the caller's rights, fills its memory or holds it up.

The promises (SAFETY.md, "Data of yours"): a dump is opened for reading alone; what it starts runs
as the servers' account, and that is the most it can do; what is no dump is refused before a server
is made.
"""

from __future__ import annotations

import gzip
import io
import os
import resource
import signal
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from own_cache import open_directory
from steelyard.engines.postgres.intake.dumps.format import recognise
from steelyard.engines.postgres.intake.dumps.rules import _CONNECT
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import SteelyardError, UsageError
from thinned import thinned

pytestmark = pytest.mark.postgres

Guard = Callable[..., AbstractContextManager[None]]
Call = Callable[..., object]


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server() as running:
        yield running


@pytest.fixture
def marker() -> Iterator[Path]:
    """A file that a planted program would write its user id to; every account may make it."""
    with open_directory() as home:
        home.chmod(0o777)
        yield home / "marker"


@pytest.mark.parametrize("piece", [b"a", b'"a"', b'""', b" ", b"\t", b'a "b" '])
@pytest.mark.parametrize("end", [b"\\\n", b'"\n', b"", b"\r", b"\\"])
def test_a_long_line_that_connects_is_refused_as_soon_as_a_short_one(
    piece: bytes, end: bytes
) -> None:
    """Tried in each of its ways, 60 letters would take longer than the machine lasts."""
    assert _CONNECT.fullmatch(b"\\connect " + piece * 20_000 + end) is None
    assert _CONNECT.fullmatch(b"\\connect a" + piece * 20_000 + b"\r\n") is not None


# Each with the trick that it tries; PROGRAM writes the marker.
PLANTED = {
    "at the start of a line": "\\! PROGRAM\n",
    "behind a statement": "SELECT 1; \\! PROGRAM\n",
    "behind blanks": " \t \\! PROGRAM\n",
    "behind a comment that looks like COPY": "/*\nCOPY x FROM stdin;\n*/\n\\! PROGRAM\n",
    "behind a line comment that looks like COPY": "-- COPY x FROM stdin;\n\\! PROGRAM\n",
    "behind a literal that looks like COPY": "SELECT '\nCOPY x FROM stdin;\n';\n\\! PROGRAM\n",
    "as the reader of an answer": "SELECT 1 \\g |PROGRAM\n",
    "as the writer of what follows": "\\o |PROGRAM\nSELECT 1;\n",
    "in rows of a COPY that failed": "COPY nosuch FROM stdin;\n\\! PROGRAM\n\\.\n",
    "in rows of a COPY without an end": "CREATE TABLE t(a text);COPY t FROM stdin;\n\\! PROGRAM\n",
    "in backticks": "\\set x `PROGRAM`\nSELECT :x;\n",
    "in a prompt": "\\set PROMPT1 '%`PROGRAM`'\n",
    "by \\copy": "CREATE TABLE t(a text);\n\\copy t FROM PROGRAM 'PROGRAM'\n",
    "by \\copy within a statement": "CREATE TABLE t(a text); \\copy t TO PROGRAM 'PROGRAM'\n",
    "by another file": "\\i /dev/stdin\n\\! PROGRAM\n",
    "behind its own \\restrict": "\\restrict abc\n\\unrestrict abc\n\\! PROGRAM\n",
    "on the line of \\unrestrict": "\\unrestrict abc \\! PROGRAM\n",
    "with lines of an old Macintosh": "\\restrict abc\r\\! PROGRAM\rSELECT 1;\r",
    "behind \\connect": "\\connect x \\! PROGRAM\n",
    "in the name of a database": "\\connect \"dbname='`PROGRAM`'\"\nSELECT 1;\n",
    "by \\gexec": "SELECT '\\! PROGRAM' \\gexec\n",
    "by \\if": "\\if `PROGRAM`\n\\endif\n",
    "by \\e": "\\setenv EDITOR 'PROGRAM'\n\\e\n",
    "by a pager": "\\setenv PAGER 'PROGRAM'\n\\pset pager always\nSELECT 1;\n",
    "behind a byte order mark": "\ufeff\\! PROGRAM\n",
    "behind a dollar quote of another name": "SELECT $a$ $b$;\n\\! PROGRAM\n$a$; \\! PROGRAM\n",
    "behind an escaped quote": "SELECT 'a\\'; \\! PROGRAM\n --';\n",
    "behind an E literal in two lines": "SELECT E'a'\n'\\''; \\! PROGRAM\n",
    "behind a nested comment": "/* /* */ ' */ \\! PROGRAM\n",
    "within parentheses": "SELECT (1; \\! PROGRAM\n);\n",
    "within a function": "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC \\! PROGRAM\nEND;\n",
    "in a character of two bytes": "SET client_encoding='SJIS';SELECT E'\x83\\'; \\! PROGRAM\n",
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@thinned("trick", PLANTED, 16)
def test_a_program_that_is_planted_in_a_dump_never_runs(
    server: RestoreServer,
    marker: Path,
    tmp_path: Path,
    untouched: Guard,
    trick: str,
    packed: bool,
) -> None:
    """Nothing of a dump runs with our rights, nor, by commands of psql, with any."""
    text = PLANTED[trick].replace("PROGRAM", f"id -u > {marker}")
    content = text.encode("latin-1" if "\x83" in text else "utf-8")
    dump = tmp_path / "dump.sql"
    dump.write_bytes(gzip.compress(content) if packed else content)
    with untouched(dump), suppress(SteelyardError):
        server.restore(dump)
    assert not marker.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO PROGRAM 'cat > MARKER; id -u > MARKER';",
        "CREATE TABLE t(a text); COPY t FROM PROGRAM 'id -u | tee MARKER';",
        "DO $$BEGIN EXECUTE 'COPY (SELECT 1) TO PROGRAM ''cat > MARKER; id -u > MARKER'''; END$$;",
        "CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN EXECUTE "
        "'COPY (SELECT 1) TO PROGRAM ''cat > MARKER; id -u > MARKER'''; END$$;"
        "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION e(); CREATE TABLE t(a int);",
    ],
)
def test_what_the_server_starts_for_a_dump_runs_as_its_account(
    server: RestoreServer, marker: Path, tmp_path: Path, statement: str
) -> None:
    """They run as the servers' account, and that is the most they can do."""
    dump = tmp_path / "dump.sql"
    dump.write_text(statement.replace("MARKER", str(marker)))
    server.restore(dump)
    assert marker.read_text().strip() == str(server.account.uid)


@pytest.mark.long
@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            [
                "SELECT 1;\n", "SELECT 'a", "'", "';", "E'\\'", "$$", "$x$", "--", "\n", "/*", "*/",
                '"', "(", ")", ";", "\\.\n", "COPY nosuch FROM stdin;\n", "a\tb\n", "\r",
                "\\restrict a\n",
                "\\unrestrict a\n", "\\connect a\n", "BEGIN;",
                "SET standard_conforming_strings=off;",
                "\\! PROGRAM\n", " \\g |PROGRAM\n", "\\o |PROGRAM\n", "`PROGRAM`", "\\! PROGRAM\r",
            ]
        ),
        min_size=2,
        max_size=12,
    ).map("".join)
)  # fmt: skip
def test_no_mixture_of_quotes_comments_and_rows_lets_a_planted_program_run(
    server: RestoreServer, text: str
) -> None:
    with open_directory() as home:
        home.chmod(0o777)
        dump = home / "dump.sql"
        dump.write_text(f"{text}\n".replace("PROGRAM", f"touch {home}/marker"))
        with suppress(SteelyardError):
            server.restore(dump)
        assert not (home / "marker").exists()


def _packed(content: bytes) -> bytes:
    """By gzip, with the same bytes at any time: names of tests hold them."""
    return gzip.compress(content, mtime=0)


def _tar(*names: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_tar("backup_label", "PG_VERSION"), "archive of a base backup"),
        (_packed(_tar("tablespace_map", "base/1/2")), "archive of a base backup"),
        (_tar("./", "./PG_VERSION"), "archive of a base backup"),
        (_packed(_tar("shop/", "shop/toc.dat")), "dump in directory format"),
        (_packed(_packed(b"SELECT 1;")), "compressed twice"),
        (_packed(b"\x28\xb5\x2f\xfd"), "zstd -d"),
        (b"SELECT 1;\n" + bytes(100), "no text"),
        (_packed(b"SELECT 1;\n" * 100_000 + bytes(9)), "no text"),
        ("SELECT 1;".encode("utf-16"), "PowerShell"),
        (_packed(b""), "empty"),
        (_packed(b"--\n-- PostgreSQL database cluster dump\n"), "all databases"),
        (_packed(b"SELECT 1;")[:-4], "cut off"),
        (b"\x1f\x8b\x08rest of no gzip", "damaged"),
        (b"PK\x03\x04", "unzip"),
        (b"-----BEGIN PGP MESSAGE-----\n\nhQEMA0=\n", "is encrypted"),
        (b"Salted__" + bytes(9), "is encrypted"),
        (b"-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n", "dump of MySQL"),
        (_packed(b"/*M!999999\\- enable the sandbox mode */ \n"), "dump of MySQL"),
        (b"/*!40101 SET NAMES binary*/;\n", "dump of MySQL"),
    ],
)
def test_what_is_no_dump_of_a_database_is_refused_before_a_server_is_made(
    tmp_path: Path, untouched: Guard, content: bytes, words: str
) -> None:
    file = tmp_path / "dump"
    file.write_bytes(content)
    with untouched(file), pytest.raises(SteelyardError) as refused:
        inspect_source(file)
    assert words in str(refused.value)


@pytest.mark.parametrize("special", ["/dev/zero", "fifo"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, special: str) -> None:
    place = Path(special)
    if special == "fifo":
        place = tmp_path / "fifo"
        os.mkfifo(place)
    with pytest.raises(UsageError, match="neither file nor directory"):
        inspect_source(place)
    directory = tmp_path / "dump"
    directory.mkdir()
    (directory / "toc.dat").write_bytes(b"PGDMP")
    os.mkfifo(directory / "3000.dat")
    with pytest.raises(UsageError, match=r'"3000.dat" in it is no regular file'):
        inspect_source(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what others cannot")
def test_a_link_of_another_account_is_not_followed_to_a_file_of_ours(
    server: RestoreServer, victim: Path
) -> None:
    """A dump is read with the rights of the caller, and given to the servers' account."""
    with open_directory() as home:
        link = home / "dump.sql"
        link.symlink_to(victim)
        assert recognise(link).path == link
        os.lchown(link, server.account.uid, server.account.gid)
        with pytest.raises(SteelyardError, match="link to the file of another account"):
            inspect_source(link)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account for servers")
def test_pg_restore_runs_as_the_servers_account(
    server: RestoreServer, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It parses what a stranger wrote."""
    with open_directory() as home:
        program = home / "pg_restore"
        program.write_text(
            f"#!/bin/sh\nid -u > {marker}\n"
            'case "$1" in --version) echo "pg_restore (PostgreSQL) 99.0";; esac\n'
        )
        home.chmod(0o755)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
        dump = tmp_path / "dump"
        dump.write_bytes(b"PGDMP" + bytes(100))
        server.restore(dump)
    assert marker.read_text().strip() == str(server.account.uid)


def test_a_pg_restore_that_crashes_on_an_archive_is_an_error_in_words(
    server: RestoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was seen to, on archives with a few changed bytes."""
    with open_directory() as home:
        program = home / "pg_restore"
        program.write_text(
            '#!/bin/sh\ncase "$1" in --version) echo "pg_restore (PostgreSQL) 99.0";;\n'
            '*) echo "SELECT"; kill -SEGV $$;; esac\n'
        )
        home.chmod(0o755)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
        dump = tmp_path / "dump"
        dump.write_bytes(b"PGDMP" + bytes(100))
        with pytest.raises(SteelyardError, match="pg_restore ended with status -11"):
            server.restore(dump)


BOMBS = {
    "a literal": b"SELECT '",
    "a comment": b"/*",
    "words": b"",
    "a dollar quote": b"SELECT $x$",
}


@thinned("kind", BOMBS, 1)
def test_a_line_of_gigabytes_is_refused_in_little_memory(
    server: RestoreServer, tmp_path: Path, kind: str
) -> None:
    """3 MB of gzip that hold one line of 3 GB."""
    dump = tmp_path / "bomb.sql.gz"
    piece = gzip.compress(b"a" * (64 << 20))
    dump.write_bytes(gzip.compress(BOMBS[kind]) + piece * 48)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            server.restore(dump)
        except UsageError:
            status = 0
        finally:
            os._exit(status)
    _, status, used = os.wait4(pid, 0)
    assert status == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used.ru_maxrss - before < 500 << 10


@pytest.mark.parametrize("statement", ["SELECT pg_sleep(600);", "DO $$BEGIN LOOP END LOOP; END$$;"])
def test_ctrl_c_ends_a_statement_that_does_not(
    server: RestoreServer, tmp_path: Path, statement: str
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(f"CREATE TABLE begun();\n{statement}\n")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            server.restore(dump)
        except KeyboardInterrupt:
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    under_way = f"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '{statement[:12]}%'"
    while server.ask(under_way) == [(0,)] and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(pid, signal.SIGINT)
    assert os.waitpid(pid, 0)[1] == 0
    server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'steelyard'")


@pytest.mark.long
def test_a_hostile_dump_is_refused_from_the_command_line_too(
    steelyard: Call, cache: Path, marker: Path, tmp_path: Path, untouched: Guard
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(f"CREATE TABLE t(a int);\nSELECT 1; \\! id -u > {marker}\n")
    (tmp_path / "q.sql").write_text("SELECT 1;\n")
    with untouched(dump):
        ended = steelyard(
            "weigh", "settings", "--from", str(dump), "-f", "q.sql", "--set",
            "arm.settings.work_mem=8MB", "--budget", "20s",
        )  # fmt: skip
    assert ended.status == 2  # type: ignore[attr-defined]
    assert "line 2 holds a command of psql, \\!" in ended.output  # type: ignore[attr-defined]
    assert not marker.exists()
