"""Missing parts of a cluster or backup are reported, with exit status 3."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from integrity.conftest import Made, back_up, backed_up, execute, page_of, plant, running
from steelyard.cli.views.scrubbed import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError
from steelyard.model.units import format_lsn
from thinned import thinned

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
PAGE = 8192


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    return scrub(ScrubRequest(path, **options), lambda *_: None)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_tablespace_that_is_not_mounted_is_told_and_the_status_is_3(
    made: Made, cluster: Cluster
) -> None:
    mount = made.slot.path / "unmounted"
    made.engine.account.make_directory(mount)
    links = cluster.directory / "pg_tblspc"
    (links / "16998").symlink_to(mount)
    (links / "16999").symlink_to(mount / "nowhere")
    try:
        outcome = scrubbed(cluster.directory)
    finally:
        for name in ("16998", "16999"):
            (links / name).unlink()
    version = outcome.layout.tablespace_version
    wanted = [f"pg_tblspc/{oid}/{version}" for oid in (16998, 16999)]
    assert [label for label, _ in outcome.denied] == wanted
    assert (outcome.exit_status, outcome.skipped) == (3, ())
    assert "no damage found in what was read" in render(outcome)
    assert [each["path"] for each in outcome.to_json()["denied"]] == wanted


@pytest.mark.long
def test_a_database_that_may_not_be_entered_is_told_and_the_status_is_3(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    if not made.engine.account.switched:
        pytest.skip("only root can take a directory from the account")
    directory = file_of("plain").parent
    owner = directory.stat()
    os.chown(directory, 0, 0)
    directory.chmod(0o700)

    def ask() -> list[object]:
        outcome = scrubbed(cluster.directory)
        return [outcome.exit_status, [label for label, _ in outcome.denied]]

    try:
        answer = made.engine.account.call(ask)
    finally:
        os.chown(directory, owner.st_uid, owner.st_gid)
    assert list(answer) == [3, [str(directory.relative_to(cluster.directory))]]


@pytest.mark.long
def test_a_backup_that_lacks_a_tablespace_is_told(made: Made, cluster: Cluster) -> None:
    space = made.slot.path / "space"
    made.engine.account.make_directory(space)
    tars = made.slot.path / "tars"
    try:
        with running(made) as alive:
            execute(
                alive,
                f"CREATE TABLESPACE aside LOCATION '{space}'",
                "CREATE TABLE there TABLESPACE aside AS SELECT generate_series(1, 1000)",
            )
            back_up(made, alive, tars, "--format=tar")
            execute(alive, "DROP TABLE there", "DROP TABLESPACE aside")
        (archive,) = tars.glob("[0-9]*.tar")
        whole = scrubbed(tars, backup=True)
        assert (whole.denied, whole.exit_status) == ((), 0)
        archive.unlink()
        less = scrubbed(tars, backup=True)
        name = f"pg_tblspc/{archive.stem}"
        assert ([label for label, _ in less.denied], less.exit_status) == ([name], 3)
        assert less.blocks < whole.blocks
        by_hand = made.slot.path / "by_hand"
        with tarfile.open(tars / "base.tar") as opened:
            # Filters came with 3.11.4; the default of 3.14 refuses links to tablespaces.
            opened.extraction_filter = getattr(tarfile, "tar_filter", None)
            opened.extractall(by_hand)
        (by_hand / name).unlink(missing_ok=True)
        unpacked = scrubbed(by_hand)
        assert ([label for label, _ in unpacked.denied], unpacked.exit_status) == ([name], 3)
    finally:
        for place in (space, tars, made.slot.path / "by_hand"):
            shutil.rmtree(place, ignore_errors=True)


def test_an_incremental_backup_is_refused_and_its_pieces_are_no_stray_names(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    piece = plain.with_name(f"INCREMENTAL.{plain.name}")
    shutil.move(plain, piece)
    outcome = scrubbed(cluster.directory)
    assert [label for label, _ in outcome.denied] == [str(piece.relative_to(cluster.directory))]
    assert outcome.exit_status == 3
    label = cluster.directory / "backup_label"
    label.write_text("START WAL LOCATION: 0/2000028 (file x)\nINCREMENTAL FROM LSN: 0/1000028\n")
    with pytest.raises(UsageError, match="incremental backup") as refused:
        scrubbed(cluster.directory)
    assert "pg_combinebackup" in (refused.value.hint or "")
    label.unlink()


def test_a_backup_without_its_log_is_judged_by_its_manifest(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    with backed_up(made, "logless", "-X", "none") as place:
        plain = place / file_of("plain").relative_to(cluster.directory)
        sound = scrubbed(place)
        assert sound.bad == ()
        redo = sound.layout.redo
        for block, lsn in ((3, redo), (4, redo + (1 << 40))):
            high = (lsn >> 32).to_bytes(4, "little")
            plant(plain, block * PAGE, high + (lsn & 0xFFFFFFFF).to_bytes(4, "little"))
            assert page_of(plain, block)[:4] == high
        outcome = scrubbed(place)
        assert [f.block for f in outcome.needs_replay] == [3]
        assert [f.block for f in outcome.bad] == [4]
        (place / "backup_manifest").unlink()
        unknown = scrubbed(place)
        assert [f.block for f in unknown.bad] == [3, 4]
        assert any("how far its write-ahead log" in note for note in unknown.notes)


@pytest.mark.long
def test_a_table_that_grows_into_a_new_segment_during_a_backup_is_no_damage(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    with backed_up(made, "growing") as place:
        plain = place / file_of("plain").relative_to(cluster.directory)
        plain.with_name(f"{plain.name}.1").write_bytes(bytes(PAGE))
        outcome = scrubbed(place)
    assert outcome.bad == ()
    assert [f.reason for f in outcome.needs_replay] == ["missing segment"]
    assert outcome.exit_status == 0


@thinned("beyond", [100, 0], 1)
def test_a_file_of_a_backup_that_was_cut_off_is_damaged_wherever_it_ends(
    made: Made, cluster: Cluster, file_of: FileOf, beyond: int
) -> None:
    with backed_up(made, "cut") as place:
        plain = place / file_of("plain").relative_to(cluster.directory)
        size = plain.stat().st_size
        os.truncate(plain, 50 * PAGE + beyond)
        outcome = scrubbed(place)
        manifest = (place / "backup_manifest").read_text()
        start = f'"Start-LSN": "{format_lsn(outcome.layout.redo - PAGE)}"'
        earlier = re.sub('"Start-LSN": "[^"]+"', start, manifest)
        (place / "backup_manifest").write_text(earlier)
        unknown = scrubbed(place)
    assert [(f.block, f.reason) for f in outcome.bad] == [(50, "short")]
    assert outcome.bad[0].missing_bytes == size - 50 * PAGE - beyond
    assert (outcome.needs_replay, outcome.exit_status) == ((), 1)
    assert "bytes are missing" in render(outcome)
    # Another backup's manifest says nothing; within a page the file was not growing all the same.
    assert [f.block for f in unknown.bad] == ([50] if beyond else [])
