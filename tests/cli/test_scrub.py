"""`steelyard scrub` says in words, JSON and its exit status what it found, and refuses nonsense."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from own_cache import open_directory
from steelyard.cli.views.scrubbed import progress_line

Refused = Callable[..., str]


@pytest.fixture(scope="module")
def pgdata() -> Iterator[Path]:
    """A new cluster of the newest version, never started."""
    from steelyard.engines.postgres.selection import find_postgres

    with open_directory() as home:
        yield find_postgres("18").create(home / "data", protection="checksums").directory


def _damage(pgdata: Path) -> Path:
    victim = max((pgdata / "base/1").glob("[0-9]*"), key=lambda path: path.stat().st_size)
    with victim.open("r+b") as file:
        file.seek(2 * 8192 + 5000)
        before = file.read(2)
        file.seek(2 * 8192 + 5000)
        file.write(bytes(b ^ 0xFF for b in before))
    return victim


@pytest.mark.long
@pytest.mark.postgres
def test_status_words_and_json_say_the_same(pgdata: Path, steelyard: Callable[..., object]) -> None:
    sound = steelyard("scrub", str(pgdata))
    assert sound.returncode == 0, sound.stderr  # type: ignore[attr-defined]
    assert sound.stdout.endswith("no damage found\n")  # type: ignore[attr-defined]
    victim = _damage(pgdata)
    words = steelyard("scrub", str(pgdata))
    facts = steelyard("scrub", str(pgdata), "--json", "--threads", "2")
    _damage(pgdata)  # once more is undone
    assert (words.returncode, facts.returncode) == (1, 1)  # type: ignore[attr-defined]
    told = json.loads(facts.stdout)  # type: ignore[attr-defined]
    assert {"files", "blocks", "seconds", "bytes", "bad", "skipped"} <= told.keys()
    (bad,) = told["bad"]
    assert bad["path"] == f"base/1/{victim.name}"
    assert (bad["block"], bad["reason"]) == (2, "checksum")
    assert bad["expected"] != bad["found"]
    assert f"block 2 of base/1/{victim.name}" in words.stdout  # type: ignore[attr-defined]
    assert "    look: in database template1: SELECT" in words.stdout  # type: ignore[attr-defined]
    assert "    do: " in words.stdout  # type: ignore[attr-defined]


def test_what_is_no_data_directory_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    old = tmp_path / "old"
    old.mkdir()
    (old / "PG_VERSION").write_text("9.6\n")
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "PG_VERSION").write_text("18\n")
    assert "is missing" in refused("scrub", "nowhere")
    assert "is missing" in refused("checksums", "nowhere")
    assert "unknown fault" in refused("drill", "--fault", "rust")
    assert "not the archive of a base backup" in refused("scrub", "file")
    assert 'has no file "PG_VERSION"' in refused("scrub", "empty")
    assert 'cannot read a cluster of PostgreSQL "9.6"' in refused("scrub", "old")
    assert "pg_control" in refused("scrub", "bare")
    assert "invalid rate" in refused("scrub", "bare", "--max-rate", "fast")
    assert "no kernel" in refused("scrub", "bare", "--kernel", "MMX")


@pytest.mark.postgres
def test_a_damaged_or_foreign_control_file_is_refused(
    pgdata: Path, refused: Refused, tmp_path: Path
) -> None:
    control = pgdata / "global/pg_control"
    sound = control.read_bytes()
    try:
        control.write_bytes(sound[:100] + b"\xff" + sound[101:])
        assert "wrong CRC" in refused("scrub", str(pgdata))
        control.write_bytes(sound[:50])
        assert "too short" in refused("scrub", str(pgdata))
    finally:
        control.write_bytes(sound)
    state = ["--state", str(tmp_path / "s"), "--catalogue", str(tmp_path / "c")]
    assert "cannot be resumed" in refused("scrub", str(pgdata), *state)


def test_progress_says_rate_and_time_left() -> None:
    gigabyte = 1 << 30
    line = progress_line(gigabyte, 4 * gigabyte, 2, 0, 2.0)
    assert line == "1024 MB of 4096 MB, 25 %, 512 MB/s, 6 s left, 2 suspects"
    assert "looking again at 3 suspects" in progress_line(1, 2, 3, 3, 1.0)
    assert progress_line(0, 0, 0, 0, 0.0).startswith("0 bytes of 0 bytes, 100 %")
