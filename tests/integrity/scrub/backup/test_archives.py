"""A broken archive of a base backup is read as far as possible, and lost files are reported."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integrity.conftest import Made, back_up, execute, page_of, plant, running
from steelyard.cli.views.scrubbed import render
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
Change = Callable[[bytearray], bytearray]
PAGE = 8192
BROKEN = "the archive is broken: "


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path), lambda *_: None)


@pytest.fixture(scope="module")
def tars(made_of: Callable[[str], Made]) -> Iterator[Path]:
    """A base backup of 18 as archives, one of them of a tablespace."""
    made = made_of("18")
    space, place = made.slot.path / "broken_space", made.slot.path / "broken_tars"
    made.engine.account.make_directory(space)
    with running(made) as alive:
        execute(
            alive,
            f"CREATE TABLESPACE aside LOCATION '{space}'",
            *(
                f"CREATE TABLE there_{n} TABLESPACE aside AS SELECT generate_series(1, 1000)"
                for n in range(5)
            ),
        )
        back_up(made, alive, place, "--format=tar")
        gone = (f"DROP TABLE there_{n}" for n in range(5))
        execute(alive, *gone, "DROP TABLESPACE aside")
    made.clone.restore(made.template.directory)
    yield place
    for each in (space, place):
        shutil.rmtree(each, ignore_errors=True)


@pytest.fixture(params=["tar", "tar.gz"])
def copy(request: pytest.FixtureRequest, tars: Path, tmp_path: Path) -> Path:
    """The same in a place of its own, also compressed."""
    place = tmp_path / "backup"
    place.mkdir()
    for path in tars.iterdir():
        if request.param == "tar" or path.suffix != ".tar":
            os.link(path, place / path.name)
        else:
            (place / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    return place


def archive_of(place: Path, name: str) -> Path:
    return next(iter(place.glob(f"{name}.tar*")))


def change(path: Path, how: Change) -> None:
    """Write an archive anew with its unpacked bytes changed."""
    content, packed = path.read_bytes(), path.suffix == ".gz"
    changed = bytes(how(bytearray(gzip.decompress(content) if packed else content)))
    path.unlink()  # it is a link to what other tests read
    path.write_bytes(gzip.compress(changed, 1) if packed else changed)


def tables_of(path: Path) -> list[tarfile.TarInfo]:
    with tarfile.open(path) as opened:
        return [each for each in opened.getmembers() if each.name[-1].isdigit() and each.size]


def test_a_member_that_lost_its_header_is_told_and_all_others_are_read(copy: Path) -> None:
    whole = scrubbed(copy)
    assert (whole.denied, whole.exit_status) == ((), 0)
    for name in ("[0-9]*", "base"):
        path = archive_of(copy, name)
        sound = path.read_bytes()
        lost = tables_of(path)[2]
        at = lost.offset_data - 512
        for header in (bytes(512), b"?"):
            change(path, lambda c, at=at, header=header: c[:at] + header + c[at + len(header) :])
            outcome = scrubbed(copy)
            (archive, why), (member, _) = outcome.denied
            assert (archive, why.startswith(BROKEN)) == (path.name, True)
            assert member.endswith(lost.name.removeprefix("./"))
            assert (outcome.files, outcome.bad, outcome.exit_status) == (whole.files - 1, (), 3)
            path.write_bytes(sound)


def test_an_archive_that_was_cut_is_read_to_where_it_ends(copy: Path) -> None:
    whole = scrubbed(copy)
    path = archive_of(copy, "[0-9]*")
    sound = path.read_bytes()
    tables = tables_of(path)
    for cut in (tables[3].offset_data - 512, tables[3].offset_data + PAGE + 9):
        change(path, lambda c, cut=cut: c[:cut])
        outcome = scrubbed(copy)
        names = [label for label, _ in outcome.denied]
        assert names[0] == path.name
        lost = [table.name for table in tables[3:]]
        assert {name.split("/", 2)[2] for name in names[1:]} == set(lost)
        inside = cut > tables[3].offset_data
        assert outcome.files == whole.files - len(lost) + inside
        assert outcome.blocks == whole.blocks - sum(t.size for t in tables[3:]) // PAGE + inside
        assert (outcome.bad, outcome.exit_status) == ((), 3)
        assert "not read: " in render(outcome)
        path.write_bytes(sound)


def test_a_cut_base_archive_is_read_by_what_its_pages_say_themselves(copy: Path) -> None:
    path = archive_of(copy, "base")
    tables = tables_of(path)
    cut = tables[len(tables) // 2].offset_data + PAGE
    spoilt = tables[5].offset_data + 5000
    change(path, lambda c: c[:spoilt] + bytes([c[spoilt] ^ 4]) + c[spoilt + 1 : cut])
    outcome = scrubbed(copy)
    assert [(f.path, f.block) for f in outcome.bad] == [(tables[5].name, 0)]
    assert outcome.layout.checksums
    assert outcome.exit_status == 1
    assert "8192 bytes with checksums" in dict(outcome.denied)["global/pg_control"]


def test_a_broken_log_archive_means_that_its_log_is_not_known(copy: Path) -> None:
    path = archive_of(copy, "pg_wal")
    whole = scrubbed(copy)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])
    outcome = scrubbed(copy)
    assert (outcome.files, outcome.bad, outcome.exit_status) == (whole.files, (), 3)
    assert [label for label, _ in outcome.denied] == [path.name]
    assert any("how far its write-ahead log reaches is not known" in n for n in outcome.notes)


def test_a_wrong_checksum_of_a_compressed_archive_is_told(tars: Path, tmp_path: Path) -> None:
    for path in tars.iterdir():
        packed = gzip.compress(path.read_bytes(), 1)
        if path.name[0].isdigit():
            packed = packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]
        name = f"{path.name}.gz" if path.suffix == ".tar" else path.name
        (tmp_path / name).write_bytes(packed if path.suffix == ".tar" else path.read_bytes())
    outcome = scrubbed(tmp_path)
    ((archive, why),) = outcome.denied
    assert archive[0].isdigit()
    assert "CRC check failed" in why
    assert outcome.exit_status == 3


@pytest.mark.long
def test_a_backup_that_broke_off_at_a_wrong_checksum_is_read(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain, place = file_of("plain"), made.slot.path / "broken_off"
    plant(plain, 3 * PAGE + 5000, bytes([page_of(plain, 3)[5000] ^ 4]))
    made.engine.account.make_directory(place)
    try:
        with running(made) as alive:
            target = client_flags(alive.address)
            status, words = made.program(
                "pg_basebackup", *target, "-D", str(place), "--checkpoint=fast", "-Ft", "-z"
            )
        assert status != 0
        assert "checksum" in words
        outcome = scrubbed(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    name = str(plain.relative_to(cluster.directory))
    assert [(f.path, f.block) for f in outcome.bad] == [(name, 3)]
    assert outcome.exit_status == 1
