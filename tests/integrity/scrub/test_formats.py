"""What is read of clusters of 18 and 19 is what their own programs say of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from integrity.conftest import Made, execute, page_of, plant, running
from integrity.made_files import crc32c
from steelyard._core import read_control, set_checksum_version
from steelyard.cli.commands.checksums import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.integrity import checksum_cost
from steelyard.integrity.checksum_cost import estimate_enabling
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import EngineError, UsageError
from thinned import thinned

pytestmark = pytest.mark.postgres

SAID = {
    "pg_control_version": "pg_control version number",
    "catalog_version": "Catalog version number",
    "system_identifier": "Database system identifier",
    "state": "Database cluster state",
    "checkpoint": "Latest checkpoint location",
    "redo": "Latest checkpoint's REDO location",
    "timeline": "Latest checkpoint's TimeLineID",
    "full_page_writes": "Latest checkpoint's full_page_writes",
    "min_recovery_point": "Minimum recovery ending location",
    "backup_start_point": "Backup start location",
    "backup_end_point": "Backup end location",
    "backup_end_required": "End-of-backup record required",
    "wal_log_hints": "wal_log_hints setting",
    "block_size": "Database block size",
    "segment_blocks": "Blocks per segment of large relation",
    "wal_segment_size": "Bytes per WAL segment",
    "checksum_version": "Data page checksum version",
}
"""Field → how pg_controldata calls it."""
PLACES = {18: (252, 292), 19: (268, 308)}
"""Major version → where data_checksum_version and the CRC stand."""


@pytest.fixture(params=["19", "18"])
def made(request: pytest.FixtureRequest, made_of: Callable[[str], Made]) -> Made:
    return made_of(request.param)


def major(made: Made) -> int:
    return made.engine.identity.version_number // 10000


def controldata(made: Made) -> dict[str, int | bool | str]:
    """What pg_controldata says, by our names."""
    status, words = made.program("pg_controldata", str(made.clone.directory))
    assert (status, "WARNING" in words) == (0, False), words
    lines = dict(re.split(r":\s+", line, maxsplit=1) for line in words.splitlines() if ": " in line)
    return {field: _value(lines[name]) for field, name in SAID.items()}


def _value(text: str) -> int | bool | str:
    if text in ("on", "off", "yes", "no"):
        return text in ("on", "yes")
    high, slash, low = text.partition("/")
    if slash:
        return (int(high, 16) << 32) + int(low, 16)
    return int(text) if text.isdigit() else text


def ours(made: Made) -> dict[str, object]:
    control = dict(read_control(made.clone.directory / CONTROL_FILE))
    assert control["crc_ok"]
    return {field: control[field] for field in SAID}


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0, gaps_s=(0.1,)), lambda *_: None)


def test_every_field_is_what_pg_controldata_says(made: Made, cluster: Cluster) -> None:
    assert ours(made) == controldata(made)
    with running(made, {"wal_log_hints": "on", "full_page_writes": "off"}):
        execute(made.clone, "CHECKPOINT")
        assert ours(made) == controldata(made)
    assert ours(made)["wal_log_hints"] is True
    assert ours(made)["full_page_writes"] is False


def test_a_standby_that_crashed_is_read_as_pg_controldata_reads_it(
    made: Made, cluster: Cluster
) -> None:
    (cluster.directory / "standby.signal").touch()
    cluster.account.own_tree(cluster.directory)
    with running(made):
        cluster.crash()
    assert ours(made) == controldata(made)
    assert ours(made)["state"] == "in archive recovery"
    assert int(str(ours(made)["min_recovery_point"])) > 0


def test_checksums_are_what_pg_checksums_made_of_them_not_what_initdb_did(
    made: Made, cluster: Cluster
) -> None:
    for option, on in (("--disable", False), ("--enable", True)):
        status, words = made.program("pg_checksums", option, "-D", str(cluster.directory))
        assert status == 0, words
        found = scrubbed(cluster.directory)
        assert (found.layout.checksums, found.bad) == (on, ())
    cluster.protect("none")
    assert controldata(made)["checksum_version"] == 0
    assert ours(made)["checksum_version"] == 0
    with running(made):
        assert execute(made.clone, "SHOW data_checksums") == [("off",)]


def test_no_more_is_changed_than_by_pg_checksums(made: Made, cluster: Cluster) -> None:
    file = cluster.directory / CONTROL_FILE
    before = file.read_bytes()
    set_checksum_version(file, 0)
    mine = file.read_bytes()
    file.write_bytes(before)
    status, words = made.program("pg_checksums", "--disable", "-D", str(cluster.directory))
    assert status == 0, words
    theirs = file.read_bytes()
    place, crc = PLACES[major(made)]
    assert differing(before, mine) <= {*range(place, place + 4), *range(crc, crc + 4)}
    # It also stamps the time.
    assert differing(mine, theirs) <= {*range(24, 32), *range(crc, crc + 4)}


def differing(first: bytes, second: bytes) -> set[int]:
    return {at for at, both in enumerate(zip(first, second, strict=True)) if both[0] != both[1]}


@thinned("state", [2, 3, 7], 1)
def test_a_state_between_off_and_on_is_said_and_never_guessed(
    made: Made, cluster: Cluster, state: int, tmp_path: Path
) -> None:
    edit(cluster, {PLACES[major(made)][0]: state}, PLACES[major(made)][1])
    refused = f"unknown checksum version {state}: 0 .off. and 1 .on. are known"
    with pytest.raises(UsageError, match=refused):
        scrubbed(cluster.directory)
    with pytest.raises(UsageError, match=refused):
        estimate_enabling(cluster.directory, tmp_path, tmp_path)
    with pytest.raises(ValueError, match=refused):
        read_control(cluster.directory / CONTROL_FILE)


def test_a_control_file_of_a_later_version_is_refused_in_words(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    for version in (1902, 1903, 2001):  # betas of 19, and what may come
        edit(cluster, {8: version}, PLACES[major(made)][1])
        refused = f"unknown pg_control_version {version}"
        with pytest.raises(EngineError, match=refused) as caught:
            cluster.protect("none")
        assert "later Steelyard" in (caught.value.hint or "")
        for read in (scrubbed, lambda path: estimate_enabling(path, tmp_path, tmp_path)):
            with pytest.raises(UsageError, match=refused):
                read(cluster.directory)


def edit(cluster: Cluster, words: dict[int, int], crc_at: int) -> None:
    """Put 32-bit words into the control file, and make its CRC right."""
    file = cluster.directory / CONTROL_FILE
    content = bytearray(file.read_bytes())
    for at, word in words.items():
        content[at : at + 4] = word.to_bytes(4, "little")
    content[crc_at : crc_at + 4] = crc32c(content[:crc_at]).to_bytes(4, "little")
    file.write_bytes(content)


def test_damage_and_a_lost_file_are_found(
    made: Made, cluster: Cluster, file_of: Callable[..., Path]
) -> None:
    plain = file_of("plain")
    plant(plain, 3 * 8192 + 6000, bytes(b ^ 0xFF for b in page_of(plain, 3)[6000:6004]))
    file_of("wide").unlink()
    found = scrubbed(cluster.directory)
    paths = {(each.path, each.block) for each in found.bad}
    assert (str(plain.relative_to(cluster.directory)), 3) in paths
    assert str(file_of("wide").relative_to(cluster.directory)) in {path for path, _ in paths}
    assert len(paths) == 2


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksum_cost, "WRITE_SAMPLE_BYTES", 1 << 20)


def test_19_is_not_said_to_switch_online(
    made: Made, cluster: Cluster, tmp_path: Path, small: None
) -> None:
    cluster.protect("none")
    words = render(estimate_enabling(cluster.directory, tmp_path, tmp_path))
    assert ("online: 19 cannot" in words) is (major(made) == 19)
    with running(made):
        rows = execute(
            made.clone, "SELECT 1 FROM pg_proc WHERE proname = 'pg_enable_data_checksums'"
        )
    assert rows == []
