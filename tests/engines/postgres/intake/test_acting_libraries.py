"""A copy preloads no library whose workers would act on the original, on servers beside it, or on
its own data by a schedule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.intake.configuration import (
    ACTING,
    SET,
    Configuration,
    neutralise,
    preloaded_at_rest,
    read_file,
    without_acting,
)
from steelyard.engines.postgres.intake.recover import _extension_doubts
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.upgrade.attempts import Attempts
from steelyard.engines.postgres.upgrade.facts import ClusterFacts


@pytest.mark.parametrize("library", sorted(ACTING))
@pytest.mark.parametrize("spelling", ["{}", "$libdir/{}", '"{}"', "{}.so", "$libdir/{}.so"])
def test_it_is_left_out_however_it_is_spelt_and_others_stay(library: str, spelling: str) -> None:
    spelt = spelling.format(library)
    preloaded = f"auto_explain, {spelt},pg_stat_statements"
    rest = without_acting(Configuration({"shared_preload_libraries": preloaded, "jit": "off"}))
    assert rest.settings == {
        "shared_preload_libraries": "auto_explain, pg_stat_statements", "jit": "off",
    }  # fmt: skip
    [omitted] = rest.neutralised
    assert omitted.what == f"{spelt.strip(chr(34))} in shared_preload_libraries"
    assert omitted.why == ACTING[library]
    alone = without_acting(Configuration({"session_preload_libraries": spelt}))
    assert alone.settings == {}


@pytest.mark.parametrize(
    "library",
    ["auto_explain", "pg_cron_like", "pg_prewarm", "my_citus", "timescaledb", "pg_partman"],
)
def test_what_acts_in_its_own_server_alone_stays(library: str) -> None:
    settings = {"shared_preload_libraries": library}
    assert without_acting(Configuration(settings)).settings == settings


def test_a_file_of_an_arm_loses_it_too(tmp_path: Path) -> None:
    file = tmp_path / "arm.conf"
    file.write_text("shared_preload_libraries = 'pg_cron'\ncron.database_name = 'shop'\n")
    configuration = read_file(file)
    assert configuration.settings == {"cron.database_name": "shop"}
    assert configuration.neutralised[0].why == ACTING["pg_cron"]


@pytest.mark.long
@pytest.mark.postgres
def test_settings_of_a_server_are_accepted_without_it_whether_the_build_has_it_or_not(
    made_of: Callable[..., object], slot: Slot
) -> None:
    engine: Postgres = made_of("18").engine  # type: ignore[attr-defined]
    offered = ServerSettings({"shared_preload_libraries": "pg_cron", "work_mem": "7MB"})
    accepted = engine.accepted(offered, slot, lambda _: None)
    assert accepted.settings == {"work_mem": "7MB"}
    assert [each.why for each in accepted.neutralised] == [ACTING["pg_cron"]]


def test_pg_upgrade_has_it_and_the_upgraded_copy_starts_without(tmp_path: Path) -> None:
    """`pg_upgrade` loads each library (LOAD), and these load in a preload only."""
    settings = {"shared_preload_libraries": "pg_cron, auto_explain", "work_mem": "7MB"}
    assert preloaded_at_rest(settings) == {"shared_preload_libraries": "auto_explain"}
    assert preloaded_at_rest({"session_preload_libraries": "citus"}) == {
        "session_preload_libraries": ""
    }
    assert preloaded_at_rest({}) == {}

    class StartedError(Exception):
        pass

    def start(slot: object, given: dict[str, str]) -> None:
        raise StartedError(given["shared_preload_libraries"])

    upgrader: Any = SimpleNamespace(settings=settings)
    new: Any = SimpleNamespace(directory=tmp_path / "data", start=start)
    facts = ClusterFacts({}, (), (), (), ("UTF8", "C", "C"))
    nothing: Any = None
    attempts = Attempts(upgrader, nothing, nothing, facts, lambda _: None)
    with pytest.raises(StartedError, match=r"^auto_explain$"):
        attempts._use(new)


class Extensions:
    """A session of a database with these extensions, all of which the build has."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def execute(self, query: str, values: list[list[str]] | None = None) -> Any:
        listed = [] if values is None else [name for name in self._names if name in values[0]]
        return SimpleNamespace(fetchall=lambda: [(name,) for name in listed])


def test_a_database_that_uses_it_is_doubted() -> None:
    session: Any = Extensions("amcheck", "citus", "plpgsql")
    [doubt] = _extension_doubts(session)
    assert doubt.startswith("extension citus is at rest in the copy")
    assert "distributed tables have no rows here" in doubt
    nothing: Any = Extensions("amcheck", "plpgsql")
    assert list(_extension_doubts(nothing)) == []


def test_hypertables_keep_their_library_and_its_jobs_are_off_and_named() -> None:
    """Only a preload makes them readable; a copy is given what its launcher ends by."""
    offered = {
        "shared_preload_libraries": "timescaledb",
        "timescaledb.max_background_workers": "16",
        "timescaledb.enable_chunk_append": "off",
    }
    rest = without_acting(neutralise(offered))
    name = "timescaledb.max_background_workers"
    assert rest.settings == {each: offered[each] for each in offered if each != name}
    assert [(each.what, "by the clock" in each.why) for each in rest.neutralised] == [(name, True)]
    assert SET[name] == "0"
    session: Any = Extensions("timescaledb")
    [doubt] = _extension_doubts(session)
    assert doubt.startswith(
        "extension timescaledb is at rest in the copy, which runs none of its jobs"
    )


@pytest.mark.long
@pytest.mark.postgres
def test_a_copy_starts_with_what_keeps_jobs_at_rest_though_its_build_lacks_their_extension(
    made_of: Callable[..., object], slot: Slot
) -> None:
    engine: Postgres = made_of("18").engine  # type: ignore[attr-defined]
    cluster = engine.create(slot.path / "data", protection="checksums")
    cluster.configure(dict(SET))
    cluster.start(slot, {})
    try:
        assert "timescaledb.max_background_workers" not in cluster.settings()
    finally:
        cluster.stop()
