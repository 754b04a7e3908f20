"""What a build or this machine refuses of foreign settings is left out by name, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

from steelyard.engines.engine import Settings, Slot
from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.model.errors import EngineError
from thinned import thinned

pytestmark = pytest.mark.postgres

GOOD = {"work_mem": "11MB", "random_page_cost": "1.1", "my.x": "a\nb'c\\d"}
REFUSED = {
    "foo_bar": "1",
    "checkpoint_segments": "32",
    "lc_monetary": "de_XX.UTF-8",
    "maintenance_work_mem": "12 parsecs",
    "effective_io_concurrency": "-5",
    "block_size": "32768",
    "wal_sync_method": "fsync_writethrough",
    "timezone": "Mars/Olympus",
    "größe": "1",
}


@pytest.fixture(scope="module", params=["18", "16"])
def engine(request: pytest.FixtureRequest, made_of: Callable[..., object]) -> Postgres:
    return made_of(request.param).engine  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry a server that was begun."""
    begun: list[str] = []
    launch = Cluster.launch

    def counted(self: Cluster, slot: Slot, settings: Settings) -> None:
        begun.append(str(self.directory))
        launch(self, slot, settings)

    monkeypatch.setattr(Cluster, "launch", counted)
    return begun


def accepted(engine: Postgres, slot: Slot, settings: dict[str, str]) -> tuple[set[str], set[str]]:
    """Names that stay, and what was left out; nothing of the trial stays behind."""
    found = engine.accepted(ServerSettings(settings), slot, lambda _: None)
    assert not (slot.path / "tried").exists()
    return set(found.settings), {one.what for one in found.neutralised}


@pytest.mark.long
def test_everything_that_is_refused_goes_by_name_and_the_server_is_started_once(
    engine: Postgres, slot: Slot, starts: list[str]
) -> None:
    stay, gone = accepted(engine, slot, {**GOOD, **REFUSED})
    assert (stay, gone) == (set(GOOD), set(REFUSED))
    assert len(starts) == 1


@thinned(
    ("settings", "gone"),
    [
        ({"shared_preload_libraries": "nosuch, nor_this"},
         {"nosuch in shared_preload_libraries", "nor_this in shared_preload_libraries"}),
        ({"session_preload_libraries": "nosuch"}, {"nosuch in session_preload_libraries"}),
        ({"huge_pages": "on", "shared_buffers": "64GB"}, {"huge_pages"}),
        ({"wal_level": "minimal"}, {"wal_level"}),
        ({"max_connections": "8", "superuser_reserved_connections": "9"},
         {"superuser_reserved_connections"}),
    ], 2,
)  # fmt: skip
def test_what_only_a_start_shows_takes_a_start_each(
    engine: Postgres, slot: Slot, starts: list[str],
    settings: dict[str, str], gone: set[str],
) -> None:  # fmt: skip
    if "shared_buffers" in settings:
        settings = {**settings, "shared_buffers": "16MB"}
    stay, left = accepted(engine, slot, {**GOOD, **settings})
    assert left == gone
    assert set(GOOD) <= stay
    assert len(starts) <= 1 + len(gone)


@pytest.mark.long
def test_a_server_that_this_machine_cannot_hold_is_refused_in_its_words_without_a_lost_log(
    engine: Postgres, slot: Slot
) -> None:
    with pytest.raises(EngineError, match="with the settings of the data's server") as refused:
        accepted(engine, slot, {"shared_buffers": "6TB", "max_connections": "9"})
    said = f"{refused.value.detail}{refused.value.hint}"
    assert "--set settings.NAME=VALUE" in said
    assert "server.log" not in said


@pytest.mark.long
def test_accepted_settings_are_what_the_copy_reports(engine: Postgres, slot: Slot) -> None:
    cluster = engine.create(slot.path / "data", protection="checksums")
    cluster.configure(GOOD)
    cluster.start(slot, {"random_page_cost": "2"})
    try:
        place = conninfo_of(replace(cluster.address))
        with psycopg.connect(place, autocommit=True) as session:
            shown = [session.execute(f"SHOW {name}").fetchone() for name in GOOD]
    finally:
        cluster.stop()
    assert shown == [("11MB",), ("2",), (GOOD["my.x"],)]


def test_without_a_start_what_the_program_refuses_goes_by_name(
    engine: Postgres, starts: list[str]
) -> None:
    found = engine.known(ServerSettings({**GOOD, **REFUSED, "shared_preload_libraries": "nosuch"}))
    assert set(found.settings) == set(GOOD)
    gone = {one.what for one in found.neutralised}
    assert gone == {*REFUSED, "nosuch in shared_preload_libraries"}
    assert starts == []
