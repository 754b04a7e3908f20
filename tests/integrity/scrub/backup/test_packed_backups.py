"""What a backup program wrote in a form of its own is refused with the command that unpacks it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from integrity.made_files import mapped_cluster_at
from steelyard.engines.postgres.life.data_directory import OTHER_STORAGE
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError


def refusal(path: Path) -> UsageError:
    with pytest.raises(UsageError) as refused:
        scrub(ScrubRequest(path), lambda *_: None)
    return refused.value


@pytest.mark.parametrize(
    ("names", "typed"),
    [
        (["backup.manifest", "bundle/1", "pg_data/base/5/16384.gz"], "`pgbackrest restore`"),
        (["backup.info", "backup.info.copy", "20261128-010203F/backup.manifest"], "`pgbackrest"),
        (["backup.info", "data/PG_VERSION"], 'name its directory "data"'),
        (["backup.control", "backup_content.control", "database/PG_VERSION"], "`pg_probackup"),
        (["metadata.json", "tar_partitions/part_001.tar.lz4"], "`wal-g backup-fetch DIRECTORY"),
        (["ib_logfile0", "shop/orders.ibd"], "`SELECT @@datadir`"),
        (["mysql.ibd", "#innodb_redo/#ib_redo5"], "`SELECT @@datadir`"),
        (["orders.ibd", "db.opt"], "ibdata1"),
        (["backup.xbstream"], "`xbstream -x -C DIRECTORY"),
        (["notes.txt"], "`SHOW data_directory`"),
    ],
)
def test_a_directory_of_a_backup_program_is_refused_with_what_to_type(
    names: list[str], typed: str, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"packed")
    refused = refusal(tmp_path)
    assert refused.primary.startswith("not a data directory: ")
    assert typed in (refused.hint or "")


def test_the_part_of_pgbackrest_that_looks_like_one_is_known_by_what_is_beside_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "pg_data").mkdir()
    (tmp_path / "backup.manifest").touch()
    assert "`pgbackrest restore`" in (refusal(tmp_path / "pg_data").hint or "")


def test_pages_of_pg_probackup_are_not_called_damaged(tmp_path: Path) -> None:
    data = mapped_cluster_at(tmp_path / "backup/database")
    (data / "base/5/16384").write_bytes(b"\0\0\0\0\x52\0\0\0" + bytes(range(82)))
    (tmp_path / "backup/backup_content.control").touch()
    refused = refusal(data)
    assert refused.primary.startswith("a backup of pg_probackup cannot be scrubbed")
    assert "`pg_probackup validate`" in (refused.hint or "")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("16384_keys", True),
        ("16384_keys/principal", True),
        ("1664_keys", False),  # of the log
        ("wal_keys", False),
        ("16384_providers", False),
    ],
)
def test_pages_that_pg_tde_may_have_encrypted_are_not_called_damaged(
    name: str, refused: bool, packed: bool, tmp_path: Path
) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / "pg_tde" / name).parent.mkdir(parents=True)
    (data / "pg_tde" / name).write_bytes(b"keys")
    if packed:
        with tarfile.open(tmp_path / "base.tar", "w") as opened:
            opened.add(data, ".")
        data = tmp_path / "base.tar"
    if not refused:
        assert scrub(ScrubRequest(data, max_rate=0.0), lambda *_: None).bad == ()
        return
    error = refusal(data)
    assert error.primary.endswith("pg_tde may have encrypted them")
    assert "`pg_tde_checksums --check" in (error.hint or "")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", sorted(OTHER_STORAGE))
def test_tables_that_an_extension_keeps_in_files_of_its_own_are_said_not_to_be_read(
    name: str, packed: bool, tmp_path: Path
) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / name).mkdir()
    request = ScrubRequest(data, max_rate=0.0)
    if packed:
        request = ScrubRequest(tmp_path / "base.tar", max_rate=0.0)
    for content, status in ((False, 0), (True, 3)):
        if content:
            (data / name / "16384").write_bytes(b"no page")
        if packed:
            with tarfile.open(tmp_path / "base.tar", "w") as opened:
                opened.add(data, ".")
        outcome = scrub(request, lambda *_: None)
        assert (outcome.bad, outcome.exit_status) == ((), status)
        assert [label for label, _ in outcome.denied] == [name] * content


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("orders.ibd", "the whole data directory"),
        ("ibdata1", "the whole data directory"),
        ("full.xbstream", "`xbstream -x -C DIRECTORY < FILE`"),
        ("monday.tar.gz", "is read as base.tar"),
        ("monday.tar", "is read as base.tar"),
        ("16384", "Name base.tar"),
    ],
)
def test_a_file_is_refused_with_what_to_name(name: str, typed: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"packed")
    refused = refusal(tmp_path / name)
    assert refused.primary.startswith("not the archive of a base backup: ")
    assert typed in (refused.hint or "")


def test_an_archive_of_a_directory_with_its_name_is_refused_with_what_to_do(
    tmp_path: Path,
) -> None:
    """`tar -cf base.tar main`, not of what is in it."""
    mapped_cluster_at(tmp_path / "main")
    with tarfile.open(tmp_path / "base.tar", "w") as opened:
        opened.add(tmp_path / "main", "main")
    refused = refusal(tmp_path / "base.tar")
    assert refused.primary.endswith('has no file "PG_VERSION" at its top')
    assert refused.hint == "Unpack it, and scrub the directory that holds PG_VERSION."
