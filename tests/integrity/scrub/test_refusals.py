"""A scrub refuses what it cannot do before it begins, and later failures lose no findings."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integrity.conftest import Made, plant
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
PAGE = 8192
WAITED_S = 1


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    return scrub(ScrubRequest(path, **options), lambda *_: None)  # type: ignore[arg-type]


@contextmanager
def pipe(path: Path) -> Iterator[None]:
    """A pipe into which nobody writes; whoever waits for it all the same is let go on."""

    done = threading.Event()

    def release() -> None:
        while not done.wait(WAITED_S):
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    os.mkfifo(path)
    releasing = threading.Thread(target=release)
    releasing.start()
    try:
        yield
    finally:
        done.set()
        releasing.join()
        path.unlink()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As on a full disk: no file grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_catalogue_or_state_that_cannot_be_kept_is_refused_before_the_scan(
    cluster: Cluster, tmp_path: Path
) -> None:
    places = [tmp_path / "nowhere" / "file", tmp_path, Path("/dev/full"), tmp_path / "pipe"]
    with pipe(tmp_path / "pipe"):
        for place in places:
            with pytest.raises(UsageError, match="could not write catalogue"):
                scrubbed(cluster.directory, catalogue=place)
            with pytest.raises(UsageError, match="could not write state file"):
                scrubbed(cluster.directory, state=place)
    with files_of_at_most(10), pytest.raises(UsageError, match="could not write state file"):
        scrubbed(cluster.directory, state=tmp_path / "state")
    assert list(tmp_path.glob("*.draft")) == []


def test_a_catalogue_that_cannot_be_written_to_its_end_takes_no_finding_with_it(
    cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    scrubbed(cluster.directory, catalogue=catalogue)
    before = catalogue.read_bytes()
    with files_of_at_most(4096):
        sound = scrubbed(cluster.directory, catalogue=catalogue)
    plant(file_of("plain"), 3 * PAGE + 5000, b"\xff\x00\xff")
    assert (sound.bad, sound.exit_status) == ((), 3), "what was asked for was not done"
    with files_of_at_most(4096):
        outcome = scrubbed(cluster.directory, catalogue=catalogue)
    assert ([f.block for f in outcome.bad], outcome.exit_status) == ([3], 1)
    assert any("could not write catalogue" in note for note in outcome.notes)
    assert outcome.blocks == sound.blocks, "the scan went on"
    assert catalogue.read_bytes() == before
    assert list(tmp_path.glob("*.draft")) == []


def test_a_state_file_that_cannot_be_written_on_takes_no_finding_with_it(
    cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    plant(file_of("plain"), 3 * PAGE + 5000, b"\xff\x00\xff")
    with files_of_at_most(500):
        outcome = scrubbed(cluster.directory, state=tmp_path / "state")
    assert ([f.block for f in outcome.bad], outcome.exit_status) == ([3], 1)
    assert any("could not write state file" in note for note in outcome.notes)


@pytest.mark.parametrize("name", ["global/pg_control", "postmaster.pid", "PG_VERSION"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(cluster: Cluster, name: str) -> None:
    file = cluster.directory / name
    kept = file.read_bytes() if file.exists() else None
    file.unlink(missing_ok=True)
    with pipe(file), pytest.raises(UsageError, match="not a regular file"):
        scrubbed(cluster.directory)
    if kept is not None:
        file.write_bytes(kept)


def test_a_control_file_that_is_missing_is_said_to_be(cluster: Cluster) -> None:
    control = cluster.directory / "global/pg_control"
    kept = control.read_bytes()
    control.unlink()
    with pytest.raises(UsageError, match=r'pg_control": No such file or directory'):
        scrubbed(cluster.directory)
    control.write_bytes(kept)


@pytest.mark.parametrize("name", ["global/pg_control", "postmaster.pid"])
def test_a_file_that_may_not_be_read_is_said_with_what_to_do(
    made: Made, cluster: Cluster, name: str
) -> None:
    if not made.engine.account.switched:
        pytest.skip("only root can take a file from the account")
    file = cluster.directory / name
    if is_new := not file.exists():
        file.write_text("77\n")
    owner = file.stat()
    os.chown(file, 0, 0)
    file.chmod(0o600)

    def ask() -> list[str]:
        try:
            scrubbed(cluster.directory)
        except UsageError as error:
            return error.lines()
        return []

    try:
        lines = list(made.engine.account.call(ask))
    finally:
        os.chown(file, owner.st_uid, owner.st_gid)
    if is_new:
        file.unlink()
    assert lines[0].endswith(f'{name}": Permission denied')
    assert "Run as the account" in lines[1]
