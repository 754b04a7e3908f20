"""What replay is taken to heal, case by case, and where the log is taken to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from steelyard._core import read_control
from steelyard.integrity.scrub.cluster_state import ClusterState, Layout, Life, look_at
from steelyard.integrity.scrub.finding import Finding
from steelyard.integrity.scrub.replay import needs_replay
from steelyard.integrity.scrub.wal import log_end, manifest_end, named_end, record_digest

MB = 1 << 20
PAGE = 8192
UNLOGGED = (1663, 5, 16400)
LAYOUT = Layout(
    system_identifier=7,
    timeline=2,
    major=18,
    catalog_version=202506291,
    page_bytes=PAGE,
    segment_blocks=131072,
    wal_segment_bytes=MB,
    checksums=True,
    state="in production",
    checkpoint=1000,
    redo=1000,
    full_page_writes=True,
    min_recovery_point=0,
    backup_start_point=0,
    backup_end_point=0,
    backup_end_required=False,
)
CRASHED = ClusterState(Path("x"), LAYOUT, Life.CRASHED, replay_from=1000, replay_to=2000)
TORN = Finding("base/5/16384", 3, "main", "checksum", lsn=1500, database=5, filenode=16384)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, True),
        ({"lsn": 999}, False),
        ({"lsn": 2001}, False),
        ({"reason": "header"}, True),
        ({"reason": "not empty"}, False),
        ({"reason": "unreadable"}, False),
        ({"reason": "short", "lsn": 0}, True),
        ({"reason": "short", "lsn": 1500}, True),
        ({"reason": "short", "lsn": 999}, False),
        ({"reason": "short", "lsn": 1500, "missing_bytes": 1}, False),
        ({"reason": "missing segment", "lsn": 0, "missing_bytes": 1}, False),
        ({"reason": "missing segment", "lsn": 0}, True),
        ({"reason": "missing segment", "lsn": 999}, False),
        ({"reason": "backwards", "lsn": 5, "before": 1500}, True),
        ({"reason": "backwards", "lsn": 5, "before": 999}, False),
        ({"path": "base/5/t3_16390", "lsn": 0}, True),
        ({"path": "base/5/t3_16390", "reason": "unreadable"}, False),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0}, True),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0, "fork": "vm"}, True),
        ({"tablespace": 1663, "filenode": 16400, "lsn": 0, "fork": "init"}, False),
        ({"tablespace": 1700, "filenode": 16400, "lsn": 0}, False),
    ],
)
def test_what_replay_heals(change: dict[str, object], wanted: bool) -> None:
    finding = replace(TORN, **change)  # type: ignore[arg-type]
    assert needs_replay(finding, CRASHED, frozenset({UNLOGGED})) is wanted
    stopped = ClusterState(Path("x"), LAYOUT, Life.STOPPED)
    assert not needs_replay(finding, stopped, frozenset({UNLOGGED}))


def test_without_whole_pages_or_without_a_log_no_page_is_healed() -> None:
    assert not needs_replay(TORN, replace(CRASHED, heals_torn=False), frozenset())
    for reason in ("checksum", "short", "missing segment"):
        finding = replace(TORN, reason=reason)
        assert not needs_replay(finding, replace(CRASHED, replay_to=None), frozenset())


def segment(directory: Path, timeline: int, number: int, pages: int, at: int | None = None) -> None:
    """A segment of which `pages` pages are written; `at`: what a recycled one was before."""
    content = bytearray(MB)
    for page in range(pages):
        address = (number if at is None else at) * MB + page * PAGE
        content[page * PAGE + 8 : page * PAGE + 16] = address.to_bytes(8, "little")
        content[page * PAGE + 16 : page * PAGE + 24] = bytes([page % 251, timeline]) * 4
    content[36:40] = PAGE.to_bytes(4, "little")
    (directory / "pg_wal" / f"{timeline:08X}{0:08X}{number:08X}").write_bytes(content)


def test_the_log_ends_at_the_last_page_that_leads_on(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) is None
    segment(tmp_path, 2, 4, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) is None, "the segment it starts in is missing"
    segment(tmp_path, 2, 3, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB
    segment(tmp_path, 2, 5, 7)
    segment(tmp_path, 2, 6, 128)  # no page leads there
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB + 7 * PAGE
    segment(tmp_path, 2, 5, 128, at=1)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB, "recycled"
    segment(tmp_path, 1, 5, 128)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB, "another timeline"
    segment(tmp_path, 3, 5, 9)
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 5 * MB + 9 * PAGE, "one that followed"
    (tmp_path / "pg_wal" / f"{2:08X}{0:08X}{4:08X}").write_bytes(b"")
    assert log_end(tmp_path, 3 * MB + 500, 2, MB) == 4 * MB


def test_the_log_of_an_archive_ends_where_its_names_end() -> None:
    names = [f"{1:08X}{0:08X}{number:08X}" for number in (3, 4, 6)]
    assert named_end(names, 3 * MB + 500, 1, MB) == 5 * MB
    assert named_end(names, 2 * MB, 1, MB) is None
    assert named_end(names, 3 * MB, 2, MB) is None


def test_a_manifest_says_where_its_log_ends(tmp_path: Path) -> None:
    manifest = tmp_path / "backup_manifest"
    assert manifest_end(manifest) is None
    ranges = '{"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "1/2000120"}'
    manifest.write_text('{"Files": [' + " " * 100_000 + f'],\n"WAL-Ranges": [\n{ranges}\n]}}')
    assert manifest_end(manifest) == (1 << 32) + 0x2000120


def test_a_digest_tells_two_histories_apart_while_the_log_is_there(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    at = 3 * MB + 2 * PAGE + 400
    assert record_digest(tmp_path, at, 2, MB) == 0
    segment(tmp_path, 2, 3, 128)
    file = tmp_path / "pg_wal" / f"{2:08X}{0:08X}{3:08X}"
    digests = []
    for last in (1, 2):
        content = bytearray(file.read_bytes())
        content[at % MB : at % MB + 114] = (
            (114).to_bytes(4, "little") + bytes([9]) * 109 + bytes([last])
        )
        file.write_bytes(content)
        digests.append(record_digest(tmp_path, at, 2, MB))
        assert digests[-1] == record_digest(tmp_path, at, 2, MB) != 0
    assert digests[0] != digests[1]
    segment(tmp_path, 2, 3, 128, at=1)
    assert record_digest(tmp_path, at, 2, MB) == 0


def crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def cluster(directory: Path, state: int, backup_start: int = 0) -> Path:
    """A directory with no more than what look_at() reads."""
    (directory / "global").mkdir(parents=True)
    (directory / "PG_VERSION").write_text("16\n")
    content = bytearray(8192)
    content[8:12] = (1300).to_bytes(4, "little")
    content[16:20] = state.to_bytes(4, "little")
    content[152:160] = backup_start.to_bytes(8, "little")
    content[216:220] = (8192).to_bytes(4, "little")
    content[220:224] = (131072).to_bytes(4, "little")
    content[228:232] = MB.to_bytes(4, "little")
    content[288:292] = crc32c(bytes(content[:288])).to_bytes(4, "little")
    (directory / "global" / "pg_control").write_bytes(content)
    assert read_control(directory / "global" / "pg_control")["crc_ok"]
    return directory


def test_a_standby_that_was_stopped_within_its_backup_is_not_at_rest(tmp_path: Path) -> None:
    consistent = look_at(cluster(tmp_path / "a", 2))
    assert (consistent.life, consistent.replay_from) == (Life.STOPPED, None)
    before = look_at(cluster(tmp_path / "b", 2, backup_start=5))
    assert (before.life, before.replay_from) == (Life.CRASHED, 0)
    assert before.heals_torn, "whole pages are logged while a backup is taken"
    after_crash = look_at(cluster(tmp_path / "c", 6))
    assert (after_crash.life, after_crash.heals_torn) == (Life.CRASHED, False)


def test_a_process_that_may_not_be_looked_into_runs_unless_the_user_knows_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = cluster(tmp_path / "a", 6)
    (directory / "postmaster.pid").write_text(f"77\n{directory}\n4000000000\n")

    def forbidden(*_: object) -> bool:
        raise PermissionError

    monkeypatch.setattr("os.path.samefile", forbidden)
    assert (look_at(directory).life, look_at(directory).pid) == (Life.RUNNING, 77)
    assert look_at(directory, crashed=True).life is Life.CRASHED
