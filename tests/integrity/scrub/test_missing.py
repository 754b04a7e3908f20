"""What belongs to a cluster and is not there is damage, or is said not to be seen."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integrity.conftest import Made, backed_up, execute, plant, running, tree_marks
from steelyard._core import read_relation_map
from steelyard.cli.views.scrubbed import render
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.advice import repair_advice
from steelyard.integrity.scrub.cluster_state import RunState
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from thinned import thinned

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
MAP = "pg_filenode.map"
UNREACHED = "host=/nowhere"


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    request = ScrubRequest(path, max_rate=0.0, gaps_s=(0.1,), **options)  # type: ignore[arg-type]
    return scrub(request, lambda *_: None)


def reasons(outcome: ScrubOutcome) -> list[tuple[str, str]]:
    return sorted((finding.path, finding.reason) for finding in outcome.bad)


@contextmanager
def moved_aside(path: Path) -> Iterator[None]:
    """Without a file or directory, which is back afterwards."""
    aside = path.parent.parent / f"{path.name}-aside"
    shutil.move(path, aside)
    try:
        yield
    finally:
        shutil.move(aside, path)


def test_the_map_of_a_real_cluster_is_read_as_the_server_reads_it(
    made: Made, cluster: Cluster
) -> None:
    with running(made) as alive:
        rows = execute(
            alive,
            "SELECT oid::int8, pg_relation_filenode(oid)::int8, relisshared FROM pg_class "
            "WHERE relfilenode = 0 AND relkind IN ('r', 'i', 't')",
        )
        [(place,)] = execute(alive, "SELECT pg_relation_filepath('pg_class')")
    major = int(made.engine.identity.version.split(".")[0])
    for shared, home in ((True, "global"), (False, place.rpartition("/")[0])):
        entries = read_relation_map(cluster.directory / home / MAP, major)
        assert dict(entries) == {oid: file for oid, file, global_ in rows if global_ is shared}


@pytest.mark.long
def test_nothing_is_missing_from_a_sound_cluster_that_was_changed_much(
    made: Made, cluster: Cluster
) -> None:
    """Rolled back, dropped, rewritten and renamed relations leave no file that is expected."""
    with running(made) as alive:
        execute(
            alive,
            "CREATE TABLE kept (id int PRIMARY KEY)",
            "BEGIN; CREATE TABLE undone (id int); INSERT INTO undone SELECT 1; ROLLBACK",
            "CREATE TABLE dropped (id int PRIMARY KEY)",
            "DROP TABLE dropped",
            "BEGIN; DROP TABLE kept; ROLLBACK",
            "VACUUM FULL plain",
            "VACUUM FULL pg_class",
            "VACUUM FULL pg_database",
            "REINDEX TABLE wide",
            "TRUNCATE passing",
            "CREATE TEMP TABLE fleeting (id int)",
            "CREATE TABLE late AS SELECT generate_series(1, 10) i",
            "CREATE MATERIALIZED VIEW seen AS SELECT 1 AS one",
            "CREATE SEQUENCE counted",
            "CREATE VIEW shown AS SELECT 1 AS one",
            "CREATE TABLE parts (i int) PARTITION BY RANGE (i)",
            "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10)",
            "BEGIN; SELECT * FROM kept FOR UPDATE; COMMIT",
        )
        execute(alive, "CREATE DATABASE second", "CREATE DATABASE passed", "DROP DATABASE passed")
        outcome = scrubbed(alive.directory)
        assert (outcome.bad, outcome.denied) == ((), ())
        assert not any("not seen" in note for note in outcome.notes), outcome.notes
    stopped = scrubbed(cluster.directory)
    assert (stopped.bad, stopped.denied, stopped.exit_status) == ((), (), 0)
    assert not any("not seen" in note for note in stopped.notes), stopped.notes


@thinned("name", ["plain", "plain_pkey", "wide_toast", "passing"], 1)
def test_a_missing_relation_file_is_damage_stopped_and_running_until_it_is_back(
    made: Made, cluster: Cluster, file_of: FileOf, name: str
) -> None:
    path = file_of(name)
    label = str(path.relative_to(cluster.directory))
    with moved_aside(path):
        before = tree_marks(cluster.directory)
        outcome = scrubbed(cluster.directory)
        assert reasons(outcome) == [(label, "missing file")]
        facts = outcome.to_json()
        assert (outcome.exit_status, facts["bad_blocks"], facts["bad_files"]) == (1, 0, 1)
        assert tree_marks(cluster.directory) == before
        [finding] = outcome.bad
        assert f'pg_class of database "{finding.database_name}" names it' in finding.guess_detail
        words = render(outcome)
        assert "damaged: 1 file or directory" in words
        assert f"  {label}: the file is missing" in words
        assert "look:" not in words
        advice = {"plain_pkey": "REINDEX INDEX", "passing": "TRUNCATE"}
        assert advice.get(name, "restore the file from a backup") in words
    assert scrubbed(cluster.directory).bad == ()
    with running(made) as alive, moved_aside(path):
        alive_outcome = scrubbed(alive.directory)
        assert (label, "missing file") in reasons(alive_outcome)


@thinned(
    ("name", "healed"),
    [("plain_pkey", "REINDEX INDEX plain_pkey"), ("passing", "TRUNCATE passing")],
    1,
)
def test_what_is_advised_for_a_missing_file_heals_it(
    made: Made, cluster: Cluster, file_of: FileOf, name: str, healed: str
) -> None:
    path = file_of(name)
    path.unlink()
    [finding] = scrubbed(cluster.directory).bad
    assert healed.rpartition(" ")[0] in repair_advice(finding)
    with running(made) as alive:
        execute(alive, healed)
    outcome = scrubbed(cluster.directory)
    assert (outcome.bad, outcome.exit_status) == ((), 0)


@pytest.mark.long
def test_a_table_of_another_access_method_may_be_kept_elsewhere_and_is_not_called_missing(
    made: Made, cluster: Cluster
) -> None:
    """As pg_duckdb's are, which have no file; that of a table of heap is missing beside it."""
    with running(made) as alive:
        execute(
            alive,
            "CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler",
            "CREATE TABLE kept_elsewhere (id int) USING other",
            "CREATE TABLE lost (id int)",
        )
        query = "SELECT pg_relation_filepath('{}')"
        [(elsewhere,)] = execute(alive, query.format("kept_elsewhere"))
        [(lost,)] = execute(alive, query.format("lost"))
        (alive.directory / elsewhere).unlink()
        assert scrubbed(alive.directory).exit_status == 3
        (alive.directory / lost).unlink()
        outcomes = [scrubbed(alive.directory)]
    outcomes.append(scrubbed(cluster.directory))
    for outcome in outcomes:
        assert reasons(outcome) == [(lost, "missing file")]
        [(label, why)] = outcome.denied
        assert label == elsewhere
        assert "another access method than heap" in why


def test_a_running_server_that_cannot_be_asked_is_named_as_what_is_not_seen(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    with running(made) as alive, moved_aside(file_of("plain_pkey")):
        outcome = scrubbed(alive.directory, server=UNREACHED)
    assert outcome.bad == ()
    [note] = [note for note in outcome.notes if note.startswith("not seen: relation files")]
    assert "--server CONNINFO" in note


@pytest.mark.long
def test_another_servers_catalogues_are_not_those_of_this_directory(
    made: Made, cluster: Cluster, made_of: Callable[[str], Made]
) -> None:
    other = made_of("16" if made.engine.identity.version.startswith("18") else "18")
    with running(made) as alive, running(other) as foreign:
        address = foreign.address
        outcome = scrubbed(
            alive.directory,
            server=f"host={address.host} port={address.port} user=postgres dbname=postgres",
        )
    assert outcome.bad == ()
    assert any("not the one that runs in this directory" in note for note in outcome.notes)


@pytest.mark.parametrize("where", ["global", "database"])
@thinned("how", ["missing", "short", "magic", "crc"], 1)
def test_a_map_that_the_server_would_refuse_is_damage(
    made: Made, cluster: Cluster, file_of: FileOf, where: str, how: str
) -> None:
    home = cluster.directory / "global" if where == "global" else file_of("plain").parent
    path = home / MAP
    words = {
        "missing": "it is missing",
        "short": "it is cut off: 100 of",
        "magic": "magic number",
        "crc": "is right for what is there",
    }[how]
    if how == "missing":
        path.unlink()
    elif how == "short":
        path.write_bytes(path.read_bytes()[:100])
    else:
        at = 0 if how == "magic" else 12
        plant(path, at, bytes([path.read_bytes()[at] ^ 1]))
    outcome = scrubbed(cluster.directory)
    label = str(path.relative_to(cluster.directory))
    assert reasons(outcome) == [(label, "relation map")]
    assert words in outcome.bad[0].guess_detail
    assert outcome.exit_status == 1
    status, said = made.program("pg_checksums", "--check", "-D", str(cluster.directory))
    assert status == 0, f"pg_checksums passes over maps: {said}"


def test_a_missing_file_of_a_catalogue_that_only_the_map_names_is_seen(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    major = int(made.engine.identity.version.split(".")[0])
    home = file_of("plain").parent
    for directory, oid in ((home, 1259), (home, 1249), (cluster.directory / "global", 1260)):
        file = directory / str(dict(read_relation_map(directory / MAP, major))[oid])
        label = str(file.relative_to(cluster.directory))
        with moved_aside(file):
            outcome = scrubbed(cluster.directory)
        assert (label, "missing file") in reasons(outcome)
        [finding] = [finding for finding in outcome.bad if finding.path == label]
        assert f"OID {oid}" in finding.guess_detail
        assert "system catalogue" in render(outcome)


def test_a_missing_database_directory_is_damage_by_name(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    home = file_of("plain").parent
    label = str(home.relative_to(cluster.directory))
    with moved_aside(home):
        outcome = scrubbed(cluster.directory)
        assert reasons(outcome) == [(label, "missing database")]
        words = render(outcome)
        assert 'for database "' in words
        assert "Other databases are not touched" in words
    assert scrubbed(cluster.directory).bad == ()


def test_a_crashed_cluster_names_what_is_not_seen_and_still_sees_maps_and_databases(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    made.clone.start(made.slot, {"fsync": "off"})
    execute(made.clone, "CREATE TABLE dropped (id int)", "CHECKPOINT", "DROP TABLE dropped")
    made.clone.crash()
    plain = file_of("plain")
    with moved_aside(plain):
        outcome = scrubbed(cluster.directory, crashed=True)
    assert outcome.run_state is RunState.CRASHED
    assert outcome.bad == (), "what was dropped since the checkpoint is no damage"
    [note] = [note for note in outcome.notes if note.startswith("not seen: relation files")]
    assert "it has recovered" in note
    with moved_aside(plain.parent / MAP):
        assert [reason for _, reason in reasons(scrubbed(cluster.directory, crashed=True))] == [
            "relation map"
        ]
    with moved_aside(plain.parent):
        assert "missing database" in [
            r for _, r in reasons(scrubbed(cluster.directory, crashed=True))
        ]


@pytest.mark.long
def test_a_backup_is_held_to_its_manifest_and_without_one_says_what_is_not_seen(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    with backed_up(made, "lacking") as place:
        assert scrubbed(place).bad == ()
        plain = place / file_of("plain").relative_to(cluster.directory)
        label = str(plain.relative_to(place))
        with moved_aside(plain):
            outcome = scrubbed(place)
            assert reasons(outcome) == [(label, "missing file")]
            assert "backup_manifest lists it" in outcome.bad[0].guess_detail
        major = int(made.engine.identity.version.split(".")[0])
        mapped = read_relation_map(plain.parent / MAP, major)
        catalogue = plain.parent / str(dict(mapped)[1259])
        for path, reason in ((catalogue, "missing file"), (plain.parent / MAP, "relation map")):
            with moved_aside(path):
                found = reasons(scrubbed(place))
            assert found == [(str(path.relative_to(place)), reason)], "each once"
        with moved_aside(place / "pg_xact/0000"):
            assert reasons(scrubbed(place)) == [("pg_xact/0000", "missing file")]
        (place / "backup_manifest").unlink()
        whole = scrubbed(place)
        assert (whole.bad, whole.exit_status) == ((), 0)
        assert any("no backup_manifest" in note for note in whole.notes)
        with moved_aside(plain.parent):
            outcome = scrubbed(place)
        assert outcome.exit_status == 3, "it may have been dropped while the backup was taken"
        assert [path for path, _ in outcome.denied] == [str(plain.parent.relative_to(place))]


@pytest.mark.long
def test_a_database_and_a_table_in_a_tablespace_are_expected_there(
    made: Made, cluster: Cluster
) -> None:
    space = made.slot.path / "elsewhere"
    made.engine.account.make_directory(space)
    try:
        with running(made) as alive:
            execute(
                alive,
                f"CREATE TABLESPACE aside LOCATION '{space}'",
                "CREATE TABLE there TABLESPACE aside AS SELECT generate_series(1, 1000)",
                "CREATE DATABASE moved TABLESPACE aside",
            )
            [(file,)] = execute(alive, "SELECT pg_relation_filepath('there')")
            assert scrubbed(alive.directory).bad == ()
        assert scrubbed(cluster.directory).bad == ()
        path = cluster.directory / file
        with moved_aside(path):
            assert reasons(scrubbed(cluster.directory)) == [(file, "missing file")]
        [home] = [p.parent for p in space.glob("PG_*/*/PG_VERSION")]
        label = f"{Path(file).parents[1]}/{home.name}"
        with moved_aside(home):
            assert reasons(scrubbed(cluster.directory)) == [(label, "missing database")]
        with moved_aside(home / MAP):
            assert reasons(scrubbed(cluster.directory)) == [(f"{label}/{MAP}", "relation map")]
    finally:
        for link in (cluster.directory / "pg_tblspc").iterdir():
            link.unlink()
        shutil.rmtree(space)
