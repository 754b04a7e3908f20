"""A control file that no server wrote is refused in words, and so is what may not be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from integrity.made_files import VERSIONS, cluster_at, control_file
from steelyard.engines.account import Account
from steelyard.engines.postgres.life.control import (
    DamagedControlError,
    read_pid_file,
    sound_control,
    unreadable_control,
)
from steelyard.integrity.innodb.scrub import is_innodb_directory
from steelyard.integrity.scrub.cluster_state import inspect_cluster
from steelyard.model.errors import UsageError


@pytest.mark.parametrize("major", VERSIONS)
@pytest.mark.parametrize("page_bytes", [1024, 8192, 32768])
def test_every_version_and_size_is_read(major: str, page_bytes: int, tmp_path: Path) -> None:
    content = control_file(
        VERSIONS[major], checksums=1, page_bytes=page_bytes, wal_segment_bytes=1 << 30
    )
    layout = inspect_cluster(cluster_at(tmp_path / "data", major, content)).layout
    assert (layout.major, layout.page_bytes, layout.checksums) == (int(major), page_bytes, True)
    assert layout.wal_segment_bytes == 1 << 30


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        *(({"page_bytes": size}, f"pages of {size} bytes") for size in (0, 1, 8191, 65536)),
        ({"segment_blocks": 0}, "files of no pages"),
        *(
            ({"wal_segment_bytes": size}, f"log segments of {size} bytes")
            for size in (0, 12345, 1 << 19, 1 << 31)
        ),
    ],
)
@pytest.mark.parametrize("version", [1201, 1905])
def test_sizes_that_no_server_has_are_damage_whatever_the_sum(
    sizes: dict[str, int], words: str, version: int, tmp_path: Path
) -> None:
    major = {1201: "12", 1905: "19"}[version]
    data = cluster_at(tmp_path / "data", major, control_file(version, state=6, **sizes))
    with pytest.raises(UsageError, match=words) as refused:
        inspect_cluster(data)
    assert "from a backup" in str(refused.value.hint)
    with pytest.raises(DamagedControlError, match=words):
        sound_control(data)


def test_a_wrong_sum_is_never_trusted(tmp_path: Path) -> None:
    content = bytearray(control_file())
    content[252] = 1
    data = cluster_at(tmp_path / "data", control=bytes(content))
    with pytest.raises(DamagedControlError, match="wrong CRC") as damaged:
        sound_control(data)
    assert "from a backup" in str(unreadable_control(data, damaged.value).hint)


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (control_file(order=">"), "byte order"),
        (control_file(1905, order=">"), "byte order"),
        (control_file(1902), "a cluster of a beta is made anew"),
        (control_file(2001), "later Steelyard"),
        (control_file()[:200], "from a backup"),
        (b"", "from a backup"),
    ],
)
def test_what_to_do_goes_by_what_the_file_is(content: bytes, advice: str, tmp_path: Path) -> None:
    data = cluster_at(tmp_path / "data", control=content)
    with pytest.raises(UsageError, match="could not read control file") as refused:
        inspect_cluster(data)
    assert advice in str(refused.value.hint)
    with pytest.raises(ValueError, match=r"unknown pg_control_version|too short") as unknown:
        sound_control(data)
    assert advice in str(unreadable_control(data, unknown.value).hint)


@pytest.mark.parametrize("version", ["9.6", "10", "11", "20", "²", "١٨", "018", "18beta1", "", "8"])
def test_only_versions_that_are_known_are_read(version: str, tmp_path: Path) -> None:
    data = cluster_at(tmp_path / "data", version)
    with pytest.raises(UsageError, match="cannot read a cluster of PostgreSQL"):
        inspect_cluster(data)


@pytest.mark.parametrize(
    ("lines", "segment", "started"),
    [
        (
            "77\n/data\n1700000000\n5432\n/run\n*\n  5432001     98304\nready\n",
            98304,
            1_700_000_000,
        ),
        ("77\n/data\nnow\n5432\n/run\n*\n5432001 x\nready\n", None, None),
        ("77\n/data\n²\n\n\n\n5432001\n", None, None),
        ("-77\n", None, None),
    ],
)
def test_a_lock_file_holds_numbers_or_nothing(
    lines: str, segment: int | None, started: int | None, tmp_path: Path
) -> None:
    (tmp_path / "postmaster.pid").write_text(lines, encoding="utf-8")
    lock = read_pid_file(tmp_path)
    assert lock is not None
    assert (lock.pid, lock.shared_memory_id, lock.started) == (77, segment, started)


@pytest.mark.parametrize("name", ["data", "data/main"])
def test_a_directory_of_another_account_is_refused_with_what_to_do(
    name: str, tmp_path: Path
) -> None:
    cluster_at(tmp_path / "data/main")
    (tmp_path / "data").chmod(0)
    nobody = Account("nobody", 65534, 65534)
    account = nobody if os.geteuid() == 0 else Account("ours", os.geteuid(), os.getegid())

    def met() -> list[str]:
        assert not is_innodb_directory(tmp_path / name)
        try:
            inspect_cluster(tmp_path / name)
        except UsageError as error:
            return error.lines()
        return []

    first, hint = account.call(met)
    (tmp_path / "data").chmod(0o700)
    assert "Permission denied" in first
    assert "Run as the account" in hint
