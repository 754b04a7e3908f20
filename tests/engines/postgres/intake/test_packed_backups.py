"""What backup programs and other products keep is refused with what brings it in."""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.made_files import mapped_cluster_at
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import UsageError


@pytest.mark.parametrize(
    ("mark", "data", "words", "typed"),
    [
        ("backup.manifest", "pg_data", "a backup of pgBackRest", "pgbackrest restore --stanza"),
        ("backup.info.copy", "20260101-010101F", "a backup of pgBackRest", "--archive-mode=off"),
        ("backup_content.control", "database", "a backup of pg_probackup", "pg_probackup restore"),
        ("tar_partitions", "none", "a backup of WAL-G", "wal-g backup-fetch DIR"),
        ("ibdata1", "shop", "of MySQL or MariaDB", "Data of PostgreSQL alone"),
        ("@.json", "none", "of MySQL or MariaDB", "Data of PostgreSQL alone"),
        ("shop-schema-create.sql.zst", "none", "of MySQL or MariaDB", "PostgreSQL alone"),
    ],
)
def test_what_no_server_of_ours_reads_says_how_it_is_brought_in(
    tmp_path: Path, mark: str, data: str, words: str, typed: str
) -> None:
    """Some of it looks like a data directory below, and was suggested, and copied."""
    home = tmp_path / "theirs"
    home.mkdir()
    (home / mark).write_text("x")
    mapped_cluster_at(home / data)
    for path in (home, home / data) if words.startswith("a backup") else (home,):
        with pytest.raises(UsageError, match=f"it is {words}") as refused:
            inspect_source(path)
        assert typed in str(refused.value.hint)


def test_a_backup_of_barman_holds_a_data_directory(tmp_path: Path) -> None:
    (tmp_path / "backup.info").write_text("backup_name=None\n")
    data = mapped_cluster_at(tmp_path / "data")
    with pytest.raises(UsageError) as refused:
        inspect_source(tmp_path)
    assert f"--from {data}" in str(refused.value.hint)
    assert inspect_source(data).major == "18"


@pytest.mark.parametrize("above", [0, 1])
@pytest.mark.parametrize(
    ("file", "program", "typed"),
    [
        ("archive/main/archive.info", "pgBackRest", "pgbackrest restore --stanza"),
        ("backup/main/backup.info.copy", "pgBackRest", "pgbackrest restore --stanza"),
        ("basebackups_005/base_01_backup_stop_sentinel.json", "WAL-G", "wal-g backup-fetch DIR"),
        ("main/base/20260101T0101/backup.info", "Barman", "barman recover SERVER latest DIR"),
        ("main/wals/xlog.db", "Barman", "barman recover SERVER latest DIR"),
        ("backups/main/R1/backup_content.control", "pg_probackup", "pg_probackup restore"),
    ],
)
def test_a_repository_of_backups_says_how_one_is_restored(
    tmp_path: Path, above: int, file: str, program: str, typed: str
) -> None:
    place = tmp_path.joinpath("theirs", *Path(file).parts[above:])
    place.parent.mkdir(parents=True)
    place.write_text("x")
    with pytest.raises(UsageError) as refused:
        inspect_source(tmp_path / "theirs")
    assert f"backups of {program}" in str(refused.value.hint)
    assert typed in str(refused.value.hint)
