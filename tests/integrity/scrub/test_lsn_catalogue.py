"""The catalogue finds lost writes, and legitimately older pages raise no alarm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from integrity.conftest import Made, execute, page_of, plant, running
from steelyard._core import read_control
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.advice import finding_facts
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
PAGE = 8192


def scrubbed(path: Path, catalogue: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, catalogue=catalogue), lambda *_: None)


@pytest.mark.long
def test_a_lost_write_is_found_which_no_checksum_sees(
    made: Made, cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    catalogue, plain = tmp_path / "catalogue", file_of("plain")
    stale = page_of(plain, 3)
    with running(made) as alive:
        execute(alive, "UPDATE plain SET filler = 'new' WHERE id < 200")
    assert "is begun" in scrubbed(cluster.directory, catalogue).notes[0]
    plant(plain, 3 * PAGE, stale)
    assert scrub(ScrubRequest(cluster.directory), lambda *_: None).bad_blocks == 0
    outcome = scrubbed(cluster.directory, catalogue)
    assert [(f.block, f.reason) for f in outcome.bad] == [(3, "backwards")]
    assert "standby" in finding_facts(outcome.bad[0])["advice"]


@pytest.mark.long
def test_what_goes_back_for_good_reason_raises_nothing(
    made: Made, cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    with running(made) as alive:
        execute(
            alive,
            "CREATE TABLE tail AS SELECT i, repeat('x', 500) FROM generate_series(1, 500) i",
            "UPDATE passing SET id = id + 10000",
        )
    assert scrubbed(cluster.directory, catalogue).bad_blocks == 0
    with running(made, {"wal_level": "minimal", "max_wal_senders": "0"}) as alive:
        execute(
            alive,
            "DELETE FROM tail WHERE i > 100",
            "VACUUM (TRUNCATE) tail",  # shorter
            "INSERT INTO tail SELECT i, repeat('y', 500) FROM generate_series(1, 300) i",  # longer
            "TRUNCATE wide",  # another file
            "UPDATE passing SET id = id + 10000",  # LSNs that are invented
            "VACUUM FULL plain",
            "UPDATE plain SET filler = 'z' WHERE id % 7 = 0",
            "VACUUM plain",
        )
        alive.crash()  # unlogged relations begin anew
    with running(made):
        pass
    outcome = scrubbed(cluster.directory, catalogue)
    assert outcome.bad == ()
    assert "compared with" in outcome.notes[0]


def test_another_cluster_or_another_past_is_not_compared_with(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    scrubbed(cluster.directory, catalogue)
    status, words = made.program("pg_resetwal", "-D", str(cluster.directory))
    assert status == 0, words
    with running(made) as alive:
        execute(alive, "CHECKPOINT")
    scrubbed(cluster.directory, catalogue)
    before = read_control(cluster.directory / "global/pg_control")["checkpoint"]
    # The whole cluster as it was: every LSN went back, and no write was lost.
    cluster.restore(made.template.directory)
    assert read_control(cluster.directory / "global/pg_control")["checkpoint"] < before
    outcome = scrubbed(cluster.directory, catalogue)
    assert outcome.bad == ()
    assert "begun anew" in outcome.notes[0]
    foreign = bytearray(catalogue.read_bytes())
    foreign[8] ^= 1
    (tmp_path / "damaged").write_bytes(foreign)
    with pytest.raises(UsageError, match="damaged"):
        scrubbed(cluster.directory, tmp_path / "damaged")


@pytest.mark.long
def test_an_old_copy_that_ran_on_past_the_catalogue_is_another_past(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    work = "UPDATE plain SET filler = repeat('x', 190)"
    with running(made) as alive:
        execute(alive, work)
    assert "is begun" in scrubbed(cluster.directory, catalogue).notes[0]
    seen = read_control(cluster.directory / "global/pg_control")["checkpoint"]
    cluster.restore(made.template.directory)
    with running(made, {"wal_keep_size": "256MB"}) as alive:
        execute(alive, "UPDATE wide SET long = long || 'x'", "CHECKPOINT", *[work] * 4)
        execute(alive, "CREATE TABLE more AS SELECT repeat('y', 500) FROM generate_series(1, 9999)")
    assert read_control(cluster.directory / "global/pg_control")["checkpoint"] > seen
    outcome = scrubbed(cluster.directory, catalogue)
    assert outcome.bad == ()
    assert "begun anew: its log holds another past" in outcome.notes[0]
    assert "compared with" in scrubbed(cluster.directory, catalogue).notes[0]


def test_many_files_that_went_back_at_once_are_said_to_be_many(
    made: Made, cluster: Cluster, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    with running(made) as alive:
        execute(alive, "VACUUM (FREEZE)", "UPDATE plain SET filler = 'new'", "ANALYZE")
    scrubbed(cluster.directory, catalogue)
    control = (cluster.directory / "global/pg_control").read_bytes()
    wal = {file: file.read_bytes() for file in (cluster.directory / "pg_wal").glob("[0-9A-F]*")}
    cluster.restore(made.template.directory)
    (cluster.directory / "global/pg_control").write_bytes(control)
    for file, content in wal.items():
        file.write_bytes(content)
    outcome = scrubbed(cluster.directory, catalogue)
    assert len({finding.path for finding in outcome.bad}) >= 10
    assert any("files went back at once" in note for note in outcome.notes)
