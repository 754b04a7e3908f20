"""A scrub of made-up data directories of InnoDB: findings, what is left out, running servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from integrity.innodb.made import PAGE, directory, page, table
from steelyard.integrity.innodb.outcome import InnodbOutcome
from steelyard.integrity.innodb.scrub import InnodbRequest, is_innodb_directory, scrub_innodb
from steelyard.model.errors import UsageError


def scrubbed(path: Path) -> InnodbOutcome:
    return scrub_innodb(InnodbRequest(path, gaps_s=(0.01, 0.01)), lambda *_: None)


def test_a_sound_directory_is_sound_and_its_algorithms_are_summed(tmp_path: Path) -> None:
    tables = {"t": [*table(5, 9), bytes(PAGE)], "u": table(6, 4)}
    data = directory(tmp_path, tables)
    (data / "ibtmp1").write_bytes(b"x")
    assert is_innodb_directory(data)
    assert not is_innodb_directory(tmp_path)
    outcome = scrubbed(data)
    assert (outcome.bad, outcome.exit_status, outcome.life) == ((), 0, "stopped")
    assert (outcome.files, outcome.blocks, outcome.bytes) == (3, 34, 34 * PAGE)
    assert outcome.carried == {"none": 33, "zero": 1}
    assert [each.path for each in outcome.tablespaces] == ["d/t.ibd", "d/u.ibd", "ibdata1"]
    assert outcome.tablespaces[0].pages == {"none": 9, "zero": 1}
    assert [path for path, _ in outcome.skipped] == ["ibtmp1"]
    assert any("33 pages have no checksum" in note for note in outcome.notes)
    assert any("not what a server keeps elsewhere by innodb_data" in n for n in outcome.notes)
    assert any(n.startswith("not seen: tablespaces that are missing") for n in outcome.notes)


def test_findings_say_where_and_why(tmp_path: Path) -> None:
    pages = table(5, 9)
    pages[3] = pages[4]
    pages[6] = page(7, 6, 9)
    pages[7] = page(5, 7, 9)[:-1] + b"\0"
    data = directory(tmp_path, {"t": pages[:8]})
    outcome = scrubbed(data)
    found = [(each.block, each.reason, each.expected, each.actual) for each in outcome.bad]
    assert found == [
        (3, "misplaced", 3, 4),
        (6, "other tablespace", 5, 7),
        (7, "lsn", 77, 0),
        (8, "short", 9, 8),
    ]
    assert [each.offset for each in outcome.bad] == [3 * PAGE, 6 * PAGE, 7 * PAGE, 8 * PAGE]
    assert (outcome.exit_status, outcome.bad_blocks) == (1, 4)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    data = directory(tmp_path, {})
    (data / "d" / "t.ibd").mkdir()
    outcome = scrubbed(data)
    assert (outcome.denied, outcome.exit_status) == ((("d/t.ibd", "not a regular file"),), 3)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        *((f"d/u.ibd.{end}", "--decompress") for end in ("qp", "zst", "lz4", "zst.xbcrypt")),
        ("d/u#p#p0.ibd.delta", "--prepare"),
        ("d/u.ibd.zst.delta", "--prepare"),
        ("undo_001.zst", "--decompress"),
        ("ibdata2.delta", "--prepare"),
        ("space.ibu.qp", "--decompress"),
    ],
)
def test_what_a_backup_packs_is_said_not_to_be_read(name: str, advice: str, tmp_path: Path) -> None:
    data = directory(tmp_path, {"t": table(5, 4)})
    (data / name).write_bytes(b"packed")
    ((label, reason),) = scrubbed(data).denied
    assert (label, advice in reason) == (name, True)
    assert scrubbed(data).exit_status == 3
    for end in ("qp", "delta"):
        system = data / "ibdata1"
        system.rename(data / f"ibdata1.{end}")
        with pytest.raises(UsageError, match="a packed backup of InnoDB"):
            is_innodb_directory(data)
        (data / f"ibdata1.{end}").rename(system)
    assert is_innodb_directory(data)


@pytest.mark.parametrize("name", ["d/u.ibd", "undo001", "shop", "space.ibd", "mysql.ibd"])
def test_a_link_that_leads_nowhere_is_said_not_to_be_read(name: str, tmp_path: Path) -> None:
    data = directory(tmp_path, {"t": table(5, 4)})
    (data / name).symlink_to(tmp_path / "not mounted")
    outcome = scrubbed(data)
    assert [label for label, _ in outcome.denied] == [name]
    assert outcome.exit_status == 3


@pytest.mark.parametrize("name", ["d/t.frm", "error.log", "d/t.ibd.bak", "mysql.sock", "d/db.opt"])
def test_what_is_no_tablespace_is_not_missed(name: str, tmp_path: Path) -> None:
    data = directory(tmp_path, {"t": table(5, 4)})
    (data / name).symlink_to(tmp_path / "not there")
    (data / "d" / "undo.log").write_bytes(b"words")
    assert (scrubbed(data).denied, scrubbed(data).exit_status) == ((), 0)


def test_what_stands_in_directories_below_is_read_however_deep(tmp_path: Path) -> None:
    """As innodb_undo_directory and DATA DIRECTORY may put it below the data directory."""
    data = directory(tmp_path, {"t": table(5, 4)})
    damaged = table(6, 9)
    damaged[3] = damaged[4]
    for name in ("undo", "far/shop", "old"):
        (data / name).mkdir(parents=True)
    (data / "undo/undo_001").write_bytes(b"".join(table(7, 9)))
    (data / "far/shop/u.ibd").write_bytes(b"".join(damaged))
    (data / "far/shop/v.ibd.zst").write_bytes(b"packed")
    (data / "old/ibdata1").write_bytes(b"".join(table(0, 9)))
    (data / "old/w.ibd.zst").write_bytes(b"packed")
    outcome = scrubbed(data)
    read = [each.path for each in outcome.tablespaces]
    assert read == ["d/t.ibd", "far/shop/u.ibd", "undo/undo_001", "ibdata1"]
    assert [(each.path, each.block) for each in outcome.bad] == [("far/shop/u.ibd", 3)]
    assert [label for label, _ in outcome.denied] == ["far/shop/v.ibd.zst"]
    ((label, reason),) = outcome.skipped
    assert (label, "scrub it by itself" in reason) == ("old", True)


def test_what_is_read_outside_of_the_directory_is_named(tmp_path: Path) -> None:
    """In a copy, the original's: an .isl file and a link keep their paths."""
    data = directory(tmp_path, {"t": table(5, 4)})
    assert not any("outside" in note for note in scrubbed(data).notes)
    away = tmp_path / "original"
    away.mkdir()
    for number, name in enumerate(("far", "linked"), start=6):
        (away / f"{name}.ibd").write_bytes(b"".join(table(number, 4)))
    (data / "d/far.isl").write_text(f"{away}/far.ibd\n")
    (data / "d/linked.ibd").symlink_to(away / "linked.ibd")
    (data / "d/inside.ibd").symlink_to("t.ibd")
    [note] = [note for note in scrubbed(data).notes if "outside" in note]
    where = f"d/far.isl at {away.resolve()}/far.ibd, d/linked.ibd at {away.resolve()}/linked.ibd"
    assert note.startswith(f"read outside of the directory: {where}; of a copy")


def test_tables_of_other_storage_engines_are_said_not_to_be_read(tmp_path: Path) -> None:
    data = directory(tmp_path, {"t": table(5, 4)})
    for name in ("d", "mysql", "#rocksdb"):
        (data / name).mkdir(exist_ok=True)
    rows = ("d/a.MYD", "d/b#P#p0.MYD", "mysql/db.MAD", "d/c.ARZ", "d/e_main_1b_2_1d.tokudb")
    for name in (*rows, "#rocksdb/000012.sst"):
        (data / name).write_bytes(b"rows")
    for name in ("d/a.MYI", "d/a.frm", "d/d.ARM", "#rocksdb/CURRENT", "a.MYD"):
        (data / name).write_bytes(b"no rows of a table")
    (data / "mysql" / "slow_log.CSV").touch()
    (data / "d" / "gone.MYD").symlink_to(tmp_path / "not there")
    outcome = scrubbed(data)
    [note] = [note for note in outcome.notes if "other storage engines" in note]
    every = "1 of Archive, 1 of Aria, 2 of MyISAM, 1 of RocksDB, 1 of TokuDB"
    assert note.endswith(f"not read: {every}")
    assert (outcome.bad, outcome.exit_status) == ((), 0)


def test_a_directory_of_innodb_alone_has_no_note_of_other_engines(tmp_path: Path) -> None:
    data = directory(tmp_path, {"t": table(5, 4)})
    (data / "mysql").mkdir()
    (data / "mysql" / "slow_log.CSV").touch()
    assert not any("other storage engines" in note for note in scrubbed(data).notes)


@pytest.mark.parametrize("locked", ["ibdata1", "aria_log_control"])
def test_a_running_server_is_known_by_its_lock(locked: str, tmp_path: Path) -> None:
    """Its pages are read again, and what stays wrong is damage."""
    pages = table(5, 9)
    pages[3] = pages[4]
    data = directory(tmp_path, {"t": pages})
    (data / "aria_log_control").touch()
    assert scrubbed(data).life == "stopped"
    holder = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(data / locked)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"held\n"
        outcome = scrubbed(data)
        server.communicate()
    assert outcome.life == "running"
    assert [(each.block, each.reason) for each in outcome.bad] == [(3, "misplaced")]
    assert any("looked at again" in note for note in outcome.notes)


def test_progress_may_stop_a_scrub(tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(*_: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        scrub_innodb(InnodbRequest(directory(tmp_path, {})), stop)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="could not read"):
        scrubbed(tmp_path / "nowhere")
