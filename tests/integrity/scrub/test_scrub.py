"""A scrub and pg_checksums agree on every cluster, except where pg_checksums lets damage pass."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from integrity.conftest import Made, page_of, plant, tree_marks
from steelyard._core import kernels, page_checksum
from steelyard.cli.views.scrubbed import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.cluster_state import RunState
from steelyard.integrity.scrub.finding import Damage
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

pytestmark = [pytest.mark.postgres, pytest.mark.by_version]

FileOf = Callable[..., Path]
PAGE = 8192


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    return scrub(ScrubRequest(path, **options), lambda *_: None)  # type: ignore[arg-type]


def oracle(made: Made, directory: Path) -> tuple[int, int, set[tuple[str, int]]]:
    """Files, blocks and bad (file, block) as pg_checksums --check tells them."""
    _, words = made.program("pg_checksums", "--check", "-D", str(directory))
    files, blocks = (
        int(re.search(rf"{what} scanned: +(\d+)", words)[1])  # type: ignore[index]
        for what in ("Files", "Blocks")
    )
    bad = re.findall(r'verification failed in file "(.*?)", block (\d+)', words)
    return files, blocks, {(str(Path(p).relative_to(directory)), int(b)) for p, b in bad}


def places(findings: tuple[Damage, ...]) -> set[tuple[str, int]]:
    return {(finding.path, finding.block) for finding in findings}


def test_a_healthy_cluster_is_healthy_to_both(made: Made, cluster: Cluster) -> None:
    files, blocks, bad = oracle(made, cluster.directory)
    before = tree_marks(cluster.directory)
    for kernel in kernels():
        outcome = scrubbed(cluster.directory, kernel=kernel, threads=2)
        assert (outcome.files, outcome.blocks, outcome.bad_blocks) == (files, blocks, 0)
        assert outcome.run_state is RunState.STOPPED
        assert outcome.skipped == ()
    assert not bad
    assert tree_marks(cluster.directory) == before, "a scrub writes nothing"


def test_planted_damage_is_found_by_both_in_the_same_blocks(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain, index, toast = file_of("plain"), file_of("plain_pkey"), file_of("wide_toast")
    plant(plain, 3 * PAGE + 5000, bytes([page_of(plain, 3)[5000] ^ 4]))
    plant(plain, 5 * PAGE + 4096, bytes(512))
    plant(plain, 7 * PAGE, page_of(plain, 8))
    plant(plain, 9 * PAGE, page_of(plain, 9)[32:] + bytes(32))
    plant(index, 1 * PAGE + 12, b"\xff\xff")
    plant(toast, 2 * PAGE + 100, b"\xff" * 64)
    plant(file_of("plain", "fsm"), PAGE + 200, b"\x01\x02\x03")
    plant(file_of("pg_database"), 8000, b"\x00\xff\x00\xff")
    outcome = scrubbed(cluster.directory, threads=2)
    _, _, bad = oracle(made, cluster.directory)
    hit = [(plain, 3), (plain, 5), (plain, 7), (plain, 9), (index, 1), (toast, 2)]
    hit += [(file_of("plain", "fsm"), 1), (file_of("pg_database"), 0)]
    assert places(outcome.bad) == {(str(p.relative_to(cluster.directory)), b) for p, b in hit}
    assert places(outcome.bad) == bad
    assert outcome.exit_status == 1
    guesses = {(f.path, f.block): f.guess for f in outcome.bad}
    name = str(plain.relative_to(cluster.directory))
    assert guesses[name, 3] in ("one bit", "cannot tell")
    assert guesses[name, 5] == "zeroed sector"
    assert guesses[name, 7] == "misplaced"
    for finding in outcome.bad:
        page = page_of(cluster.directory / finding.path, finding.block)
        assert finding.actual == int.from_bytes(page[8:10], "little")
        assert finding.expected == page_checksum(page, finding.block)


def test_a_guess_is_one_only_where_the_page_says_more_than_its_checksum(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain, index = file_of("plain"), file_of("plain_pkey")
    blocks = {path: path.stat().st_size // PAGE for path in (plain, index)}
    garbage = random.Random(1)
    plant(plain, 2 * PAGE + 8, bytes([page_of(plain, 2)[8] ^ 8]))
    plant(plain, 4 * PAGE, garbage.randbytes(PAGE))
    plant(plain, 6 * PAGE + 14, bytes(2))
    plant(plain, 8 * PAGE + 4096, page_of(plain, 9)[4096:])
    plant(index, 2 * PAGE, page_of(index, 7))
    outcome = scrubbed(cluster.directory)
    guesses = {(f.path.rpartition("/")[2], f.block): f for f in outcome.bad}
    kinds = {block: f.guess for (name, block), f in guesses.items() if name == plain.name}
    assert kinds == {
        2: "one bit",
        4: "overwritten",
        6: "more than one bit",
        8: "two pages",
    }
    moved = guesses[index.name, 2]
    assert moved.guess in ("misplaced", "cannot tell")
    assert "block 7 " in moved.guess_detail
    named = [
        int(n) for f in outcome.bad for n in re.findall(r"right for block (\d+)", f.guess_detail)
    ]
    assert all(block < max(blocks.values()) for block in named)
    words = render(outcome)
    assert "probably one bit: bit 3 of byte 8 (pd_checksum) explains it" in words
    assert "    more than one bit: no single bit would explain it" in words


def test_what_pg_checksums_lets_pass_is_found(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    plant(plain, 2 * PAGE + 14, bytes(2))  # pd_upper: the page says that it is empty
    insane = bytearray(page_of(plain, 4))
    insane[12:14] = (8000).to_bytes(2, "little")  # pd_lower behind pd_upper, checksum right
    insane[8:10] = page_checksum(bytes(insane), 4).to_bytes(2, "little")
    plant(plain, 4 * PAGE, bytes(insane))
    plant(plain, 6 * PAGE, bytes(PAGE))  # all zero: an empty page, to both
    outcome = scrubbed(cluster.directory)
    assert [(f.block, f.reason) for f in outcome.bad] == [(2, "not empty"), (4, "header")]
    assert oracle(made, cluster.directory)[2] == set()


def test_a_short_last_block_is_told_and_the_scan_goes_on(cluster: Cluster, file_of: FileOf) -> None:
    plain, index = file_of("plain"), file_of("plain_pkey")
    with plain.open("ab") as file:
        file.write(b"x" * 100)
    plant(index, PAGE + 5000, b"\xff\x00\xff")
    outcome = scrubbed(cluster.directory, threads=1)
    assert {f.reason for f in outcome.bad} == {"short", "checksum"}


def test_segments_that_are_missing_are_told(cluster: Cluster, file_of: FileOf) -> None:
    plain = file_of("plain")
    segment = plain.with_name(f"{plain.name}.2")
    segment.write_bytes(page_of(plain, 0))
    outcome = scrubbed(cluster.directory)
    reasons = {f.reason: f.block for f in outcome.bad}
    assert reasons["missing segment"] in (131072, len(plain.read_bytes()) // PAGE)


def test_without_checksums_headers_are_checked_and_it_says_so(
    cluster: Cluster, file_of: FileOf
) -> None:
    cluster.protect("none")
    plant(file_of("plain"), 3 * PAGE + 5000, b"\xff\x00\xff")
    plant(file_of("plain"), 4 * PAGE + 10, b"\xff\xff")
    outcome = scrubbed(cluster.directory)
    assert [(f.block, f.reason) for f in outcome.bad] == [(4, "header")]
    assert "checksums are off" in outcome.notes[0]


def test_a_scrub_that_was_ended_goes_on_where_it_was(
    cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    plant(file_of("plain"), 3 * PAGE + 5000, b"\xff\x00\xff")
    whole = scrubbed(cluster.directory)
    state = tmp_path / "state"

    class EndedError(Exception):
        pass

    def end(read: int, *_: int) -> None:
        if read > whole.bytes // 3:
            raise EndedError

    with pytest.raises(EndedError):
        scrub(ScrubRequest(cluster.directory, threads=1, state=state, max_rate=3e7), end)
    done = len(state.read_text().splitlines()) - 1
    assert 0 < done < whole.files
    rest = scrubbed(cluster.directory, state=state)
    assert rest.files == whole.files - done
    assert places(rest.bad) == places(whole.bad)
    assert not state.exists()


def test_a_state_of_another_cluster_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text('{"format": 1, "scrub_of": 5}\n')
    with pytest.raises(UsageError, match="not of a scrub of this cluster"):
        scrubbed(cluster.directory, state=state)


def test_tablespaces_are_scanned_and_those_of_other_versions_left_out(
    made: Made, cluster: Cluster, file_of: FileOf, run: object
) -> None:
    version = scrubbed(cluster.directory)
    name = version.layout.tablespace_version
    space = made.slot.path / "space"
    shutil.copytree(file_of("plain").parent, space / name / "5")
    shutil.copytree(file_of("plain").parent, space / "PG_11_201809051" / "5")
    link = cluster.directory / "pg_tblspc" / "16999"
    link.symlink_to(space)
    try:
        plant(space / name / "5" / file_of("plain").name, 3 * PAGE + 5000, b"\xff\x00\xff")
        outcome = scrubbed(cluster.directory)
        (found,) = outcome.bad
        assert found.path == f"pg_tblspc/16999/{name}/5/{file_of('plain').name}"
        assert found.tablespace == 16999
    finally:
        link.unlink()
        shutil.rmtree(space)


def test_files_that_may_not_be_read_are_told_and_the_scan_goes_on(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    if not made.engine.account.switched:
        pytest.skip("only root can take a file from the account")
    plain = file_of("plain")
    plant(file_of("plain_pkey"), PAGE + 5000, b"\xff\x00\xff")
    owner = plain.stat()
    os.chown(plain, 0, 0)
    plain.chmod(0o600)

    def ask() -> list[object]:
        outcome = scrubbed(cluster.directory)
        return [outcome.exit_status, [list(each) for each in outcome.denied], outcome.bad_blocks]

    try:
        status, denied, bad = made.engine.account.call(ask)
    finally:
        os.chown(plain, owner.st_uid, owner.st_gid)
    assert (status, bad) == (1, 1)
    assert denied == [[str(plain.relative_to(cluster.directory)), denied[0][1]]]
    assert "denied" in denied[0][1]
