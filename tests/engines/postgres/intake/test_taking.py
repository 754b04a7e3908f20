"""Somebody's stopped server, backup or dump becomes a stopped cluster that opens to us."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original
from engines.postgres.upgrade.rich_cluster import fingerprint, rich_cluster
from own_cache import open_directory
from steelyard._core import read_control
from steelyard.engines.engine import Slot
from steelyard.engines.intake import ImportedCluster, Intake, SettingsPlace
from steelyard.engines.own_backup import backup_token, is_marked
from steelyard.engines.postgres.intake import import_cluster
from steelyard.engines.postgres.intake.place import digest_of, inspect_source
from steelyard.engines.postgres.intake.running import ask_running, back_up
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.registry import Run
from steelyard.model.errors import EngineError, ServerError, SteelyardError, UsageError
from thinned import thinned

pytestmark = pytest.mark.postgres

Slots = Callable[[int], Slot]


def silent(_: str) -> None:
    """No report."""


@pytest.fixture
def engine18(made_of: Callable[..., object]) -> Postgres:
    return made_of("18").engine  # type: ignore[attr-defined, no-any-return]


def take(
    engine: Postgres, place: Path, slot: Slot, database: str | None = "shop"
) -> tuple[ImportedCluster, Cluster]:
    """What is said of a copy, and the copy, stopped."""
    taken = engine.take_in(Intake(inspect_source(place), database), slot, silent)
    return taken, engine.open(slot.path / "data")


def rows(cluster: Cluster, query: str, database: str = "steelyard") -> list[tuple[object, ...]]:
    """Of the running copy."""
    place = conninfo_of(replace(cluster.address, database=database))
    with psycopg.connect(place, autocommit=True) as session:
        return session.execute(query.encode()).fetchall()


def checked(engine: Postgres, original: Original, cluster: Cluster) -> str:
    """What pg_checksums says of a stopped copy."""
    return original.program("pg_checksums", "--check", "-D", str(cluster.directory))


def test_a_stopped_data_directory_is_copied_opened_and_sealed_and_stays_as_it_was(
    engine18: Postgres, theirs: Original, slot: Slot
) -> None:
    before = digest_of(theirs.directory)
    listed = {path: path.lstat().st_mtime_ns for path in theirs.directory.rglob("*")}
    taken, copy = take(engine18, theirs.directory, slot)
    assert digest_of(theirs.directory) == before
    assert {path: path.lstat().st_mtime_ns for path in theirs.directory.rglob("*")} == listed
    assert taken.database == "shop"
    assert taken.database_bytes > 20000 * 100
    assert "Bad checksums:  0" in checked(engine18, theirs, copy)
    assert read_control(copy.directory / "global/pg_control")["state"] == "shut down"
    assert not any(path.is_symlink() for path in copy.directory.rglob("*"))

    offered = read_server_settings(SettingsPlace(theirs.directory, "data directory"))
    accepted = engine18.accepted(offered, slot, silent)
    copy.configure(accepted.settings)
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT count(*), sum(id) FROM lines") == [(20000, 200010000)]
        assert rows(copy, "SELECT words FROM orders WHERE id = 7") == [("x" * 100 + "7",)]
        assert rows(copy, "SELECT count(*) FROM pg_prepared_xacts") == [(0,)]
        assert rows(copy, "SELECT count(*) FROM pg_replication_slots") == [(0,)]
        said = dict(rows(copy, "SELECT name, setting FROM pg_settings"))
        kept = {k: said[k] for k in ("work_mem", "jit", "wal_level", "archive_mode", "ssl")}
        expected = ["7168", "off", "logical", "off", "off"]
        assert list(kept.values()) == expected
        assert said["synchronous_standby_names"] == ""
        assert said["data_checksums"] == "on"
        names = {name for (name,) in rows(copy, "SELECT datname FROM pg_database")}
        assert {"steelyard", "postgres", "empty"} <= names
        assert "shop" not in names
    finally:
        copy.stop()


@pytest.mark.long
def test_what_was_left_out_and_what_may_be_otherwise_is_told(
    engine18: Postgres, theirs: Original, slot: Slot
) -> None:
    offered = read_server_settings(SettingsPlace(theirs.directory, "data directory"))
    accepted = engine18.accepted(offered, slot, silent)
    gone = {one.what: one.why for one in accepted.neutralised}
    assert gone["archive_command"] == "nothing is archived from it"
    assert "commits would wait" in gone["synchronous_standby_names"]
    assert gone["no_such_library in shared_preload_libraries"] == "this build does not have it"
    taken, _ = take(engine18, theirs.directory, slot)
    gone = {one.what: one.why for one in taken.neutralised}
    assert "prepared transaction theirs" in gone
    assert "replication slot theirs" in gone
    assert "its pages carried no checksums: the copy's were written" in taken.doubts
    assert any(one.startswith("the database itself sets geqo_seed (") for one in taken.doubts)


def test_checksums_are_those_that_pg_checksums_writes(
    engine18: Postgres, theirs: Original, slot: Slot, tmp_path: Path
) -> None:
    """A copy without checksums, sealed by us and by pg_checksums --enable: byte for byte."""
    _, copy = take(engine18, theirs.directory, slot)
    control = copy.directory / "global" / "pg_control"
    ours = {path: path.read_bytes() for path in _relations(copy.directory)}
    assert sum(map(len, ours.values())) > 10_000_000
    for path in ours:
        _without_checksums(path)
    copy.protect("none")
    assert {path: path.read_bytes() for path in _relations(copy.directory)} != ours
    theirs.program("pg_checksums", "--enable", "--no-sync", "-D", str(copy.directory))
    again = {path: path.read_bytes() for path in _relations(copy.directory)}
    assert [str(path) for path in ours if again[path] != ours[path]] == []
    assert read_control(control)["checksum_version"] == 1


def _relations(directory: Path) -> list[Path]:
    places = [*(directory / "base").rglob("*"), *(directory / "global").rglob("*")]
    places += (directory / "pg_tblspc").rglob("*")
    return [path for path in places if path.is_file() and path.name[0].isdigit()]


def _without_checksums(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for at in range(8, len(content), 8192):
        content[at : at + 2] = b"\0\0"
    path.write_bytes(content)


@pytest.mark.long
def test_of_several_databases_one_must_be_named(
    engine18: Postgres, theirs: Original, slot: Slot
) -> None:
    with pytest.raises(UsageError, match="cannot choose") as refused:
        take(engine18, theirs.directory, slot, None)
    assert refused.value.detail == "There are empty, shop."
    with pytest.raises(UsageError, match='no database "shopp"') as misspelt:
        take(engine18, theirs.directory, slot, "shopp")
    assert misspelt.value.detail == "There are empty, postgres, shop."
    assert not (slot.path / "data").exists(), "it is said before anything is copied"


@pytest.mark.long
def test_the_maintenance_database_itself_can_be_meant(
    engine18: Postgres, theirs: Original, slot: Slot
) -> None:
    taken, copy = take(engine18, theirs.directory, slot, "postgres")
    assert taken.database == "postgres"
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT 1", "postgres") == [(1,)]
        assert rows(copy, "SELECT 1", "steelyard") == [(1,)]
    finally:
        copy.stop()


@pytest.mark.long
def test_a_directory_in_use_or_of_another_version_is_refused(
    engine18: Postgres, made_of: Callable[..., object], theirs: Original, slot: Slot
) -> None:
    running = theirs.running("wal_level=logical")
    with running, pytest.raises(EngineError, match="in use"):
        inspect_source(theirs.directory)
    engine16: Postgres = made_of("16").engine  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="made by version 18") as refused:
        take(engine16, theirs.directory, slot)
    assert "--set control.version=18 --set arm.version=18" in str(refused.value.hint)


@pytest.mark.long
def test_a_running_server_is_copied_by_a_base_backup_and_crashed_files_are_recovered(
    engine18: Postgres, theirs: Original, slot: Slot, run: Run
) -> None:
    """With its tablespace mapped, its log brought along, and work under way."""
    home = run.directory / "backup"
    with theirs.running("wal_level=logical", "max_wal_senders=4"):  # fmt: skip
        theirs.ask("CREATE TABLE IF NOT EXISTS late AS SELECT 42 AS answer", "shop")
        server = ask_running(theirs.target)
        assert server.version.startswith("18")
        assert server.bytes is not None
        assert server.bytes > 10_000_000
        back_up(server, home)
    assert inspect_source(home / "data").kind == "base backup"
    assert is_marked(home / "data")
    assert backup_token(home / "data") is not None, "it is ours to remove"
    taken, copy = take(engine18, home / "data", slot)
    assert taken.database == "shop"
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT answer FROM late") == [(42,)]
        assert rows(copy, "SELECT count(*) FROM lines") == [(20000,)]
    finally:
        copy.stop()
    assert "Bad checksums:  0" in checked(engine18, theirs, copy)

    # Without its log it is half a backup.
    shutil.rmtree(slot.path / "data")
    (home / "data" / "backup_manifest").unlink()
    for segment in (home / "data" / "pg_wal").glob("0*"):
        segment.unlink()
    with pytest.raises(EngineError, match=r"(?s)half a backup.*in an archive.*start a server"):
        take(engine18, home / "data", slot)
    shutil.rmtree(home)


@thinned("megabytes", [1, 64], 1)
def test_log_segments_of_another_size_are_taken_in_and_served_whatever_the_limits(
    engine18: Postgres, slot: Slot, megabytes: int
) -> None:
    """`initdb --wal-segsize`: a server starts with no limit of less than two segments."""
    with open_directory() as home:
        original = original_at(home)
        original.make(f"--wal-segsize={megabytes}")
        with original.running(f"min_wal_size={2 * megabytes}MB", f"max_wal_size={8 * megabytes}MB"):
            original.ask("CREATE DATABASE shop")
        _, copy = take(engine18, original.directory, slot)
    limits = {"min_wal_size": "32MB", "max_wal_size": "2048kB"}
    for file, command_line in (({}, {}), (limits, {}), ({}, limits), (limits, limits)):
        copy.configure(file)
        copy.start(slot, command_line)
        try:
            assert rows(copy, "SHOW wal_segment_size") == [(f"{megabytes}MB",)]
        finally:
            copy.stop()
    copy.start(slot, engine18.load_settings)
    copy.stop()


@pytest.mark.long
def test_a_subscriber_with_more_origins_than_servers_have_room_for_by_default_is_taken_in(
    engine18: Postgres, slot: Slot
) -> None:
    """Of each subscription, and of each table that one still copies."""
    room = "max_active_replication_origins=20"
    with open_directory() as home:
        original = original_at(home)
        original.make()
        with original.running(room):
            original.ask("CREATE DATABASE shop")
            for number in range(12):
                original.ask(f"SELECT pg_replication_origin_create('o{number}')")
                original.ask(f"SELECT pg_replication_origin_advance('o{number}', '0/1')")
        _, copy = take(engine18, original.directory, slot)
    copy.start(slot, dict([room.split("=")]))
    try:
        assert rows(copy, "SELECT count(*) FROM pg_replication_origin_status") == [(12,)]
    finally:
        copy.stop()


def test_blocks_of_another_size_are_refused_by_name_before_anything_is_copied(
    engine18: Postgres, theirs: Original, slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As no build of other blocks is at hand, the control file is read as one of them."""
    for name, words in (("block_size", "its block_size is"), ("segment_blocks", "segment_size is")):
        other = {**read_control(theirs.directory / "global/pg_control"), name: 32768}
        monkeypatch.setattr(import_cluster, "control_of", lambda _, other=other: other)
        with pytest.raises(EngineError, match=words) as refused:
            take(engine18, theirs.directory, slot)
        assert "--set control.bindir=DIR" in str(refused.value.hint)
        assert not (slot.path / "data").exists()


def test_a_server_that_cannot_be_reached_is_said() -> None:
    with pytest.raises(ServerError, match="could not reach"):
        ask_running("host=/nonexistent port=1 user=nobody dbname=postgres")


@thinned("form", ["custom", "directory", "tar", "plain", "gzip"], 2)
def test_a_dump_is_restored_without_its_roles(
    engine18: Postgres, theirs: Original, slot: Slot, tmp_path: Path, form: str, dumps: Path
) -> None:
    taken, copy = take(engine18, dumps / form, slot, None)
    assert taken.database == ("" if form in ("plain", "gzip") else "shop"), "as far as it says"
    assert any("locale C" in one for one in taken.doubts)
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT count(*), sum(id) FROM lines") == [(20000, 200010000)]
        assert rows(copy, "SELECT tableowner FROM pg_tables WHERE tablename = 'lines'") == [
            ("postgres",)
        ]
        assert rows(copy, "SELECT reltuples::int FROM pg_class WHERE relname = 'lines'") == [
            (20000,)
        ]
    finally:
        copy.stop()


@pytest.fixture(scope="session")
def dumps(theirs: Original, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of the shop in every format."""
    home = theirs.sockets / "dumps"
    theirs.account.make_directory(home)
    with theirs.running("wal_level=logical"):
        for form, letter in (("custom", "c"), ("directory", "d"), ("tar", "t"), ("plain", "p")):
            theirs.program(
                "pg_dump", "-h", str(theirs.sockets), "-p", str(PORT), "-U", OWNER, "-F", letter,
                "-f", str(home / form), "shop",
            )  # fmt: skip
    (home / "gzip").write_bytes(gzip.compress((home / "plain").read_bytes()))
    home.chmod(0o711)
    for file in home.iterdir():
        file.chmod(0o755)
    return home


@thinned(
    ("text", "error", "words"),
    [
        ("CREATE TABLE t (a int);\nSELECT nonsense;\n", ServerError, "nonsense"),
        ("CREATE TABLE t (a int);\n\\! touch /tmp/never\n", UsageError, r"line 2 .* \\!"),
        ("CREATE TABLE t (a int);\n\\connect other\n", UsageError, "another database"),
        ("CREATE EXTENSION no_such_extension;\n", ServerError, "no_such_extension"),
    ],
    1,
)
def test_a_dump_that_fails_is_quoted_and_one_that_would_do_more_is_refused(
    engine18: Postgres, slot: Slot, tmp_path: Path, text: str, error: type[Exception], words: str
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(text)
    with pytest.raises(error) as refused:
        take(engine18, dump, slot, None)
    found = refused.value
    assert isinstance(found, SteelyardError)
    import re

    assert re.search(words, f"{found}\n{found.detail}\n{found.hint}")
    assert not Path("/tmp/never").exists()
    assert subprocess.run(["pgrep", "-f", str(slot.path / "data")], check=False).returncode == 1


def test_rows_of_a_plain_dump_may_begin_with_a_backslash(
    engine18: Postgres, slot: Slot, tmp_path: Path
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(
        "\\restrict abc\nCREATE TABLE t (a text);\nCOPY public.t (a) FROM stdin;\n\\N\n\\\\!\n\\.\n"
        "ALTER TABLE public.t OWNER TO nobody_here;\n\\unrestrict abc\n"
    )
    _, copy = take(engine18, dump, slot, None)
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT a FROM t ORDER BY a NULLS LAST") == [("\\!",), (None,)]
    finally:
        copy.stop()


@pytest.mark.long
def test_data_of_an_earlier_version_are_upgraded_in_the_copy_with_their_tablespaces(
    engine18: Postgres, slot: Slot
) -> None:
    home = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    home.chmod(0o711)
    try:
        with rich_cluster(home, "16") as original:
            before = fingerprint(original.sockets)
            taken, copy = take(engine18, original.directory, slot)
            assert fingerprint(original.sockets) == before
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert any("upgraded from 16" in doubt for doubt in taken.doubts)
    assert not [path for path in copy.directory.rglob("*") if path.is_symlink()]
    copy.start(slot, {})
    try:
        assert rows(copy, "SELECT count(*), sum(twice) FROM sales") == [(5000, 25005000)]
        assert rows(copy, "SELECT count(*) FROM items") == [(500,)]
        assert rows(copy, "SHOW data_checksums") == [("on",)]
        assert rows(copy, "SHOW allow_in_place_tablespaces") == [("on",)]  # as without an upgrade
        assert rows(copy, "SELECT count(*) > 0 FROM pg_stats WHERE tablename = 'items'") == [
            (True,)
        ]
    finally:
        copy.stop()
    assert [path.name for path in slot.path.iterdir() if path.is_dir()] == ["data"]
