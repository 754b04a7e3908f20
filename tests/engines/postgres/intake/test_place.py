"""What stands at a place is told before anything is copied; what cannot be taken in is refused."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.engines.postgres.intake.contents import contents
from steelyard.engines.postgres.intake.place import digest_of, inspect_source
from steelyard.model.errors import EngineError, SteelyardError, UsageError


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The files of a stopped cluster, as far as they are looked at."""
    for name in ("base/5", "global", "pg_wal", "pg_xact", "pg_tblspc", "log", "pg_replslot/theirs"):
        (tmp_path / "data" / name).mkdir(parents=True)
    directory = tmp_path / "data"
    (directory / "PG_VERSION").write_text("18\n")
    for name in ("global/pg_control", "base/5/1259", "pg_wal/000000010000000000000001"):
        (directory / name).write_bytes(bytes(8192))
    (directory / "log" / "theirs.log").write_text("secret")
    (directory / "server.key").write_text("secret")
    (directory / "pg_replslot/theirs/state").write_text("x")
    return directory


def test_a_data_directory_is_told_with_its_version_and_size(made: Path) -> None:
    found = inspect_source(made)
    assert (found.kind, found.major, found.path) == ("data directory", "18", made)
    assert found.bytes >= 3 * 8192


def test_only_what_a_copy_needs_is_listed(made: Path) -> None:
    names = {entry.name for entry in contents(made)}
    assert {"PG_VERSION", "base/5/1259", "global/pg_control"} <= names
    assert not [name for name in names if "log/" in name or "key" in name or "replslot" in name]


def test_links_are_followed_and_a_loose_one_is_named(made: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "space"
    (elsewhere / "PG_18_1" / "5").mkdir(parents=True)
    (elsewhere / "PG_18_1" / "5" / "16384").write_bytes(bytes(8192))
    (made / "pg_tblspc" / "16385").symlink_to(elsewhere)
    assert "pg_tblspc/16385/PG_18_1/5/16384" in {entry.name for entry in contents(made)}
    (made / "pg_tblspc" / "16386").symlink_to(tmp_path / "nothing")
    with pytest.raises(EngineError, match="leads nowhere"):
        inspect_source(made)


@pytest.mark.parametrize(
    ("target", "words"),
    [("pg_tblspc", "holds no tablespace"), ("pg_tblspc/16385", "circle"), ("base", "holds no")],
)
def test_links_in_a_circle_end(made: Path, target: str, words: str) -> None:
    (made / "pg_tblspc" / "16385").symlink_to(made / target)
    with pytest.raises(EngineError, match=words):
        inspect_source(made)


def test_mount_points_of_the_log_and_of_tablespaces_hold_more_than_their_files(
    made: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    for name in ("lost+found", "PG_18_202506291/5", "theirs"):
        (disk / name).mkdir(parents=True)
    (disk / "PG_18_202506291/5/16384").write_bytes(bytes(8192))
    (made / "pg_tblspc/16385").symlink_to(disk)
    (made / "pg_wal/lost+found").mkdir(mode=0)
    (made / "pg_wal/notes.txt").write_text("theirs")
    names = {entry.name for entry in contents(made)}
    assert "pg_tblspc/16385/PG_18_202506291/5/16384" in names
    assert {name for name in names if name.startswith("pg_wal/")} == {
        "pg_wal/000000010000000000000001"
    }


def test_of_a_tablespace_that_two_clusters_share_the_files_of_this_one_are_taken(
    made: Path, tmp_path: Path
) -> None:
    """After pg_upgrade the old cluster's stand beside the new one's, and its server may run."""
    disk = tmp_path / "disk"
    for name in ("PG_14_202107181/5", "PG_18_202506291/5", "PG_180_202506291/5"):
        (disk / name).mkdir(parents=True)
        (disk / name / "16384").write_bytes(bytes(8192))
    (made / "pg_tblspc/16385").symlink_to(disk)
    names = {entry.name for entry in contents(made) if entry.name.startswith("pg_tblspc/16385/")}
    home = "pg_tblspc/16385/PG_18_202506291"
    assert names == {home, f"{home}/5", f"{home}/5/16384"}
    before = digest_of(made)
    (disk / "PG_14_202107181/5/16384").write_bytes(bytes(16384))
    assert digest_of(made) == before
    (disk / "PG_18_202506291").rename(disk / "PG_17_202406281")
    with pytest.raises(EngineError, match="holds no tablespace") as refused:
        inspect_source(made)
    assert "PG_18_..." in str(refused.value.detail)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("16385 /mnt/fast\n", ["16385"]),
        ("16385 /mnt/a\n16386 /mnt/b\n", ["16385", "16386"]),
        ("16385 /mnt/a\\\n99 odd\n16384 /mnt/b\n", ["16385"]),
    ],
)
def test_a_tablespace_of_the_map_that_was_not_unpacked_is_named(
    made: Path, text: str, missing: list[str]
) -> None:
    (made / "pg_tblspc/16384/PG_18_202506291").mkdir(parents=True)
    (made / "tablespace_map").write_text(text)
    with pytest.raises(EngineError) as refused:
        inspect_source(made)
    assert f"names tablespace {', '.join(missing)}, of" in str(refused.value.detail)
    assert all(f"{oid}.tar into pg_tblspc/{oid}" in str(refused.value.hint) for oid in missing)
    for oid in missing:
        (made / f"pg_tblspc/{oid}/PG_18_202506291").mkdir(parents=True)
    assert inspect_source(made).major == "18"


def test_the_digest_follows_every_file(made: Path) -> None:
    before = digest_of(made)
    assert digest_of(made) == before
    (made / "log" / "theirs.log").write_text("more")
    assert digest_of(made) == before
    (made / "base/5/1259").write_bytes(bytes(16384))
    assert digest_of(made) != before


@pytest.mark.parametrize("missing", ["global/pg_control", "pg_wal", "pg_xact", "base"])
def test_a_directory_that_lacks_something_is_not_whole(made: Path, missing: str) -> None:
    (made / missing).rename(made / "gone")
    with pytest.raises(EngineError, match="not whole"):
        inspect_source(made)


def test_a_backup_is_held_to_its_manifest(made: Path) -> None:
    (made / "backup_label").write_text("START WAL LOCATION: 0/2000028\n")
    listed = {"Files": [{"Path": "base/5/1259", "Size": 8192}, {"Path": "base/5/1", "Size": 3}]}
    (made / "backup_manifest").write_text(json.dumps(listed))
    with pytest.raises(EngineError) as refused:
        inspect_source(made)
    assert '"base/5/1" is missing' in str(refused.value.detail)
    (made / "base/5/1").write_bytes(b"xx")
    with pytest.raises(EngineError) as refused:
        inspect_source(made)
    assert "2 bytes, not 3" in str(refused.value.detail)
    (made / "base/5/1").write_bytes(b"xxx")
    assert inspect_source(made).kind == "base backup"
    (made / "backup_manifest").write_text("{")
    with pytest.raises(EngineError) as refused:
        inspect_source(made)
    assert "cannot be read" in str(refused.value.detail)


@pytest.mark.parametrize(
    "name",
    ["postgresql.auto.conf", "standby.signal", "recovery.signal", "postgresql.conf",
     "pg_hba.conf", "pg_ident.conf"],
)  # fmt: skip
def test_a_backup_that_was_configured_is_whole(made: Path, name: str) -> None:
    """`pg_basebackup -R` itself writes to the first two, and the manifest is the server's."""
    (made / "backup_label").write_text("START WAL LOCATION: 0/2000028\n")
    (made / "backup_manifest").write_text(json.dumps({"Files": [{"Path": name, "Size": 88}]}))
    assert inspect_source(made).kind == "base backup", "it is not there"
    (made / name).write_text("primary_conninfo = 'host=db1'\n")
    assert inspect_source(made).kind == "base backup"
    (made / f"{name}.d").write_text("x")
    listed = {"Files": [{"Path": f"{name}.d", "Size": 88}]}
    (made / "backup_manifest").write_text(json.dumps(listed))
    with pytest.raises(EngineError, match="not the whole backup") as refused:
        inspect_source(made)
    assert f"pg_verifybackup {made}" in str(refused.value.hint)


def test_data_that_began_as_a_backup_are_no_backup_any_more(made: Path) -> None:
    """A server renames the label; the manifest stays, as in every standby that was promoted."""
    (made / "backup_label.old").write_text("START WAL LOCATION: 0/2000028\n")
    (made / "backup_manifest").write_text(json.dumps({"Files": [{"Path": "gone", "Size": 1}]}))
    assert inspect_source(made).kind == "data directory"


def test_an_incremental_backup_is_named(made: Path) -> None:
    (made / "base/5/INCREMENTAL.16384").write_bytes(b"x")
    with pytest.raises(EngineError, match="incremental"):
        inspect_source(made)


def _tar(path: Path, name: str) -> None:
    (path.parent / name).write_text("x")
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(path.parent / name, arcname=name)


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("nothing", lambda p: None, "there is nothing"),
        ("empty", Path.mkdir, "no data directory"),
        ("dump.zst", lambda p: p.write_bytes(b"\x28\xb5\x2f\xfdrest"), "compressed"),
        (
            "all.sql",
            lambda p: p.write_text("--\n-- PostgreSQL database cluster dump\n"),
            "all data",
        ),
        ("noise", lambda p: p.write_bytes(b"\0\1\2"), "no dump"),
        ("base.tar", lambda p: _tar(p, "backup_label"), "archive"),
    ],
)
def test_what_is_no_data_is_refused_in_words(
    tmp_path: Path, name: str, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / name)
    with pytest.raises(UsageError, match=words):
        inspect_source(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("custom", lambda p: p.write_bytes(b"PGDMP\1\x10")),
        ("plain.sql", lambda p: p.write_text("CREATE TABLE t (a int);\n")),
        ("packed.sql.gz", lambda p: p.write_bytes(gzip.compress(b"SELECT 1;\n"))),
        ("archive.tar", lambda p: _tar(p, "toc.dat")),
    ],
)
def test_a_dump_is_told_by_its_beginning(
    tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    make(tmp_path / name)
    assert (inspect_source(tmp_path / name).kind, inspect_source(tmp_path / name).major) == (
        "dump",
        None,
    )


@pytest.mark.parametrize(
    "version",
    [
        "",
        "\n",
        "eighteen",
        "18\x1b[31m",
        "1\u0668",
        "18.4",
        "-18",
        "018",
        "1",
        "999",
        "18 19",
        "9.6.1",
    ],
)
def test_a_version_that_is_none_is_refused_in_words(made: Path, version: str) -> None:
    (made / "PG_VERSION").write_text(version)
    with pytest.raises(UsageError, match="holds no version of PostgreSQL"):
        inspect_source(made)


@pytest.mark.parametrize("version", ["9.6", "9.0", "8.4"])
def test_data_of_before_10_are_named_by_their_version_and_not_by_what_they_lack(
    made: Path, version: str
) -> None:
    (made / "PG_VERSION").write_text(f"{version}\n")
    for now, then in (("pg_wal", "pg_xlog"), ("pg_xact", "pg_clog")):
        (made / now).rename(made / then)
    with pytest.raises(UsageError, match=f"of PostgreSQL {version}, which is too old") as refused:
        inspect_source(made)
    assert "pg_dump" in str(refused.value.hint)


@pytest.mark.parametrize(
    "entry",
    [
        {"Path": "\ud800x", "Size": 1}, {"Path": "base/\udfff", "Size": 1},
        {"Path": "a\0b", "Size": 1}, {"Path": 7, "Size": 1}, {"Path": ["x"], "Size": 1},
        {"Path": "x"}, {"Path": "x", "Size": "1"}, {"Path": "x", "Size": None},
        {"Path": "x", "Size": True}, {"Path": "x", "Size": 1.0}, "x", None, [],
    ],
)  # fmt: skip
def test_a_manifest_of_nonsense_cannot_be_read(made: Path, entry: object) -> None:
    (made / "backup_label").write_text("START WAL LOCATION: 0/2000028\n")
    (made / "backup_manifest").write_text(json.dumps({"Files": [entry]}))
    with pytest.raises(EngineError, match="not the whole backup") as refused:
        inspect_source(made)
    assert "cannot be read" in str(refused.value.detail)


@given(name=st.text(max_size=40) | st.text(st.characters(categories=["Cs", "Ll"]), max_size=5))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_manifest_may_list_any_name(made: Path, name: str) -> None:
    (made / "backup_label").write_text("START WAL LOCATION: 0/2000028\n")
    (made / "backup_manifest").write_text(json.dumps({"Files": [{"Path": name, "Size": -1}]}))
    with pytest.raises(EngineError, match="not the whole backup"):
        inspect_source(made)


def suggested(path: Path) -> str:
    with pytest.raises(UsageError, match="no data directory") as refused:
        inspect_source(path)
    return str(refused.value.hint)


@pytest.mark.parametrize("above", [1, 2])
def test_a_directory_above_the_data_says_which_they_are(made: Path, above: int) -> None:
    home = made.parent / "of us" / "18" / "main"
    home.parent.mkdir(parents=True)
    made.rename(home)
    assert f"--from '{home}'" in suggested(home.parents[above - 1])


def test_several_below_are_all_named(made: Path, tmp_path: Path) -> None:
    made.rename(tmp_path / "18")
    (tmp_path / "16" / "global").mkdir(parents=True)
    (tmp_path / "16" / "PG_VERSION").write_text("16\n")
    assert f"--from {tmp_path}/16 or --from {tmp_path}/18" in suggested(tmp_path)


def test_a_damaged_data_directory_names_none_of_its_databases(made: Path) -> None:
    (made / "base/5/PG_VERSION").write_text("18\n")
    (made / "PG_VERSION").unlink()
    assert suggested(made) == "None"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("data_directory = 'HERE'\n", True), ("include 'more.conf'\n", True),
        ("data_directory = 'HERE/nothing'\n", False), ("work_mem = 1MB\n", False),
        ("data_directory = 'data'\n", False), ("= 3\n", False), ("include 'none'\n", False),
    ],
)  # fmt: skip
def test_a_directory_of_a_configuration_says_where_its_data_are(
    made: Path, tmp_path: Path, text: str, names: bool
) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "postgresql.conf").write_text(text.replace("HERE", str(made)))
    (etc / "more.conf").write_text(f"data_directory = '{made}'\n")
    assert suggested(etc) == (f"The data are elsewhere: --from {made}" if names else "None")


def test_a_directory_of_all_databases_says_which_to_name(tmp_path: Path) -> None:
    (tmp_path / "databases/5").mkdir(parents=True)
    (tmp_path / "map.dat").write_text("5 postgres\n16384 shop\n")
    with pytest.raises(UsageError) as refused:
        inspect_source(tmp_path)
    assert f"--from {tmp_path}/databases/NAME" in str(refused.value.detail)


def test_where_there_is_nothing_a_running_server_can_be_named_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing") as refused:
        inspect_source(tmp_path / "nothing")
    assert "--from 'host=" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("magic", "name", "typed"),
    [
        (b"\x28\xb5\x2f\xfd", "a b.dump.zst", "zstd -dc < 'HERE/a b.dump.zst' > 'HERE/a b.dump'"),
        (b"\x04\x22\x4d\x18", "a.lz4", "lz4 -dc < HERE/a.lz4 > HERE/a"),
        (b"BZh9", "a", "bunzip2 -c < HERE/a > HERE/a.unpacked"),
        (b"\xfd7zXZ", "a.sql", "unxz -c < HERE/a.sql > HERE/a.sql.unpacked"),
        (b"PK\x03\x04", "there.ZIP", "unzip -p HERE/there.ZIP > HERE/there.ZIP.unpacked"),
        (
            gzip.compress(gzip.compress(b"x", mtime=0), mtime=0),
            "a.gz",
            "gzip -dc < HERE/a.gz > HERE/a",
        ),
    ],
)
def test_what_is_compressed_says_what_to_type_and_overwrites_nothing(
    tmp_path: Path, magic: bytes, name: str, typed: str
) -> None:
    (tmp_path / "there").write_text("of the user")
    (tmp_path / name).write_bytes(magic)
    with pytest.raises(UsageError, match="compressed") as refused:
        inspect_source(tmp_path / name)
    assert str(refused.value.hint) == f"Unpack it first: {typed}".replace("HERE", str(tmp_path))


def test_a_backup_in_archives_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "base.tar.gz").write_bytes(b"x")
    with pytest.raises(SteelyardError) as refused:
        inspect_source(tmp_path)
    assert "unpack" in str(refused.value.detail)
