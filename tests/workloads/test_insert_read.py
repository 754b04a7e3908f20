"""The first touch of new rows logs their page once, unless something has spared it that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from driven import drive

from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import explain_probes
from steelyard.workloads.loading.load import before_clients
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
Probes = dict[str, dict[str, int]]

pytestmark = pytest.mark.postgres

SCALE = 20
OLD, NEW = 20_000, 10_000
PAGES = -(-(OLD + NEW) // 61) - OLD // 61
"""On which there are new rows; the first of them has old ones too."""
FULL = (OLD + NEW) // 61 - -(-OLD // 61)
"""Of them, those that hold new rows alone, 61 each."""
SCANNED = (1000 * SCALE + 60) // 61 + NEW // 61 - 12 - OLD // 61
"""Of them, those that the sequential scan of the probes reads: not the last ones, which it leaves
to what is read behind a second checkpoint."""
WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"


def chosen(**options: object) -> Workload:
    return find_workload("insert-read", {"added": 50, **options})


def clone_of(workload: Workload, engine: Postgres, place: Path) -> Cluster:
    return engine.open(template(engine, workload, SCALE)).clone(place / "clone")


def ask(address: Endpoint, query: str) -> int:
    with connected(replace(address, database=DATABASE)) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def explained(
    workload: Workload, engine: Postgres, place: Path, serve: Serve, setting: str = ""
) -> Probes:
    """The probes on a clone that was stopped after its load, begun as an epoch begins."""
    with serve(clone_of(workload, engine, place)) as address:
        if setting:
            with connected(address) as connection:
                connection.execute(f"ALTER DATABASE {DATABASE} SET {setting}".encode())
        before_clients(workload, PostgresDatabase(address), SCALE)
        return dict(explain_probes(workload, PostgresDatabase(address), SCALE))


def images(probes: Probes) -> list[int]:
    return [one["wal_full_page_images"] for one in probes.values()]


@pytest.mark.long
def test_the_first_touch_of_a_page_logs_it_and_later_ones_do_not(
    engine: Postgres, place: Path, serve: Serve
) -> None:
    probes = explained(chosen(), engine, place, serve)
    # A row each of ten pages, another, a third, the first again; then all pages before them; then
    # behind a checkpoint a row of the ten, and another.
    assert images(probes) == [10, 0, 0, 0, SCANNED, 10, 0]
    assert probes["after_checkpoint"]["wal_bytes"] == 10 * (8_241 - 116)
    # 61 rows of 128 bytes leave a hole of 116 in a page: 8,241 less the hole, as the manual of the
    # log's format has it, and nothing else is written.
    assert probes["first_touch"]["wal_bytes"] == 10 * (8_241 - 116)
    for later in ("second_touch", "third_touch", "same_row_again", "between_checkpoints"):
        assert probes[later]["wal_bytes"] == 0, later
    assert probes["sequential_scan"]["wal_records"] == SCANNED


def test_a_compressed_image_is_smaller_than_its_page(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    probes = explained(chosen(), engine18, place, serve, "wal_compression = pglz")
    assert images(probes) == [10, 0, 0, 0, SCANNED, 10, 0]
    assert 10 * 500 < probes["first_touch"]["wal_bytes"] < 10 * 5_000


def test_every_page_of_new_rows_is_logged_once_and_none_differs_from_another(
    engine: Postgres, place: Path, serve: Serve
) -> None:
    probes = explained(chosen(every_page=True), engine, place, serve)
    every = probes["every_page"]
    assert every["executions"] == FULL
    for counter, each in (
        ("wal_records", 1),
        ("wal_full_page_images", 1),
        ("wal_bytes", 8_241 - 116),
        ("blocks_dirtied", 1),
    ):
        assert every[counter] == FULL * each
        assert [every[f"{counter}_{which}"] for which in ("least", "median", "most")] == [each] * 3
    # Of the scan after it only the page that old rows share with new ones is left.
    assert probes["sequential_scan"]["wal_full_page_images"] == 1
    assert probes["first_touch"]["wal_full_page_images"] == 10


@pytest.mark.long
def test_compressed_images_of_pages_differ_by_what_is_on_them(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = chosen(every_page=True)
    every = explained(workload, engine18, place, serve, "wal_compression = pglz")["every_page"]
    assert every["wal_full_page_images"] == every["executions"] == FULL
    least, median, most = (every[f"wal_bytes_{one}"] for one in ("least", "median", "most"))
    assert 500 < least <= median <= most < 5_000
    assert least < most, "no two pages have the same rows"
    assert FULL * least < every["wal_bytes"] < FULL * most


@thinned("options", [{"vacuumed": True}, {"frozen": True}, {"checkpoint": False}], 1)
def test_without_hint_bits_to_set_or_a_checkpoint_before_them_reading_leaves_no_trace(
    options: dict[str, object], engine18: Postgres, place: Path, serve: Serve
) -> None:
    """A vacuum has set them; COPY FREEZE too; the log of the insert still protects its page."""
    probes = explained(chosen(**options), engine18, place, serve)
    behind = 0 if options.get("checkpoint", True) else 10  # there is one then
    assert images(probes) == [0, 0, 0, 0, 0, behind, 0]
    assert [one["wal_bytes"] > 0 for one in probes.values()] == [*[False] * 5, behind > 0, False]
    dirtied = probes["first_touch"]["blocks_dirtied"]
    assert dirtied == 0 or not options.get("checkpoint", True)


@pytest.mark.long
def test_what_an_epoch_begins_with_is_done_once_and_fills_the_pages_alike(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = chosen(checkpoint=False)
    with serve(clone_of(workload, engine18, place)) as address:
        assert ask(address, "SELECT count(*) FROM measurements") == OLD
        for _ in range(2):
            before_clients(workload, PostgresDatabase(address), SCALE)
        assert ask(address, "SELECT count(*) FROM measurements") == OLD + NEW
        wrong = "SELECT count(*) FROM measurements WHERE (ctid::text::point)[0] <> (id - 1) / 61"
        assert ask(address, wrong) == 0


@thinned(
    "options",
    [
        {},
        {"access": "page"},
        {"durable": True},
        {"access": "page", "durable": True},
        {"window": 5},
    ],
    2,
)
def test_every_read_finds_a_page_of_its_own(
    options: dict[str, object], engine18: Postgres, place: Path, serve: Serve
) -> None:
    drives(options, engine18, place, serve)


@pytest.mark.long
def test_every_read_finds_a_page_of_its_own_on_the_older_version_too(
    place: Path, serve: Serve
) -> None:
    drives({"durable": True}, find_postgres("16"), place, serve)


def drives(options: dict[str, object], engine: Postgres, place: Path, serve: Serve) -> None:
    workload = chosen(**options)
    with serve(clone_of(workload, engine, place)) as address:
        before = ask(address, WRITTEN)
        drive(workload, address, SCALE, 20)
        written = ask(address, WRITTEN) - before
        first = OLD + (61 - OLD % 61) % 61 + 1
        offset = f"SELECT (ctid::text::point)[1] FROM measurements WHERE id = {first}"
        assert ask(address, offset) == 1, "pages begin where the scripts think that they do"
    pages = 20 if "window" in options else 80
    assert pages * 8_000 < written < pages * 8_300 + 80 * 400


@thinned("durable", [False, True], 1)
def test_the_first_sequential_scan_logs_every_new_page_and_the_next_ones_none(
    durable: bool, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = chosen(access="scan", durable=durable)
    with serve(clone_of(workload, engine18, place)) as address:
        positions = [ask(address, WRITTEN)]
        for _ in range(2):
            drive(workload, address, SCALE, 1, clients=1)
            positions.append(ask(address, WRITTEN))
        assert ask(address, "SELECT count(*) FROM visits") == (2 if durable else 0)
    first, second = positions[1] - positions[0], positions[2] - positions[1]
    assert PAGES * 8_000 < first < PAGES * 8_300
    assert second < 8_000


@thinned("access", ["index", "page"], 1)
def test_pages_that_are_used_up_are_not_read_twice(
    access: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = chosen(access=access)
    with (
        serve(clone_of(workload, engine18, place)) as address,
        pytest.raises(AssertionError, match="wrong_rows"),
    ):
        drive(workload, address, SCALE, 60)
