"""Statistics of an upgraded copy are gathered by the target of the server that its data are of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.engines.postgres.intake.configuration import FETCHING_KEYS
from steelyard.engines.postgres.upgrade import carrying, copies

TARGET = {"default_statistics_target": "1000"}


@pytest.mark.parametrize("target", [TARGET, {}])
def test_statistics_that_an_upgrade_does_not_carry_over_are_of_the_servers_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: dict[str, str]
) -> None:
    """In the arm of the old version they are the server's own."""
    started: list[dict[str, str]] = []
    cluster = SimpleNamespace(
        directory=tmp_path,
        start=lambda slot, settings: started.append(dict(settings)),
        stop=lambda: None,
    )
    program = SimpleNamespace(program=lambda name: name)
    new = SimpleNamespace(build=program, identity=SimpleNamespace(version_number=170005))
    settings = {"work_mem": "8MB", **target}
    upgrader = SimpleNamespace(new=new, settings=settings, account=None, environment={})
    slot = SimpleNamespace(socket_directory=tmp_path, port=1)
    monkeypatch.setattr(carrying, "run_timed", lambda *_: SimpleNamespace(status=0))
    carrying._gather(cast(Any, upgrader), cast(Any, cluster), cast(Any, slot), lambda _: None)
    assert started == [{**carrying._QUIET, **target}]


def test_what_vacuumdb_takes_is_timed_by_the_servers_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured: list[dict[str, str]] = []
    monkeypatch.setattr(copies, "log_limits", lambda directory: {})
    monkeypatch.setattr(
        copies, "configure_copy", lambda account, cluster, settings: configured.append(settings)
    )
    cluster = SimpleNamespace(account=None, directory=tmp_path)
    copies.configure_for_upgrade(cast(Any, cluster), {"work_mem": "8MB", **TARGET})
    assert configured[0].items() >= TARGET.items()
    assert "work_mem" not in configured[0]


@pytest.mark.parametrize("library", sorted(FETCHING_KEYS))
def test_servers_of_pg_upgrade_preload_what_acts_and_fetch_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library: str
) -> None:
    """Without the script at hand no such server starts."""
    configured: list[dict[str, str]] = []
    monkeypatch.setattr(copies, "log_limits", lambda directory: {})
    monkeypatch.setattr(
        copies, "configure_copy", lambda account, cluster, settings: configured.append(settings)
    )
    cluster = SimpleNamespace(account=None, directory=tmp_path)
    preloaded = {"shared_preload_libraries": f"pg_cron, {library}, auto_explain"}
    copies.configure_for_upgrade(cast(Any, cluster), preloaded)
    assert configured[0]["shared_preload_libraries"] == "pg_cron, auto_explain"


def test_servers_of_pg_upgrade_preload_what_both_builds_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`carry_over` is given what the new one has."""

    class ConfiguredError(Exception):
        pass

    def configure(cluster: object, settings: dict[str, str]) -> None:
        raise ConfiguredError(settings)

    (tmp_path / "old/bin").mkdir(parents=True)
    (tmp_path / "old/lib").mkdir()
    for name in ("plpgsql", "auto_explain"):
        (tmp_path / f"old/lib/{name}.so").touch()
    (tmp_path / "data").mkdir()
    account = SimpleNamespace(make_way=lambda path: path.parent.mkdir(parents=True))
    build = SimpleNamespace(bindir=tmp_path / "old/bin", settings={})
    programs = SimpleNamespace(build=build, identity=None, account=account)
    monkeypatch.setattr(carrying, "require_programs", lambda *_: None)
    monkeypatch.setattr(carrying, "_read", lambda *_: (None, "dba"))
    monkeypatch.setattr(carrying, "move_out", lambda *_: None)
    monkeypatch.setattr(carrying, "Cluster", lambda *_: None)
    monkeypatch.setattr(carrying, "configure_for_upgrade", configure)
    old: Any = SimpleNamespace(directory=tmp_path / "data")
    slot: Any = SimpleNamespace(path=tmp_path)
    settings = {"shared_preload_libraries": "auto_explain, timescaledb", "work_mem": "8MB"}
    with pytest.raises(ConfiguredError) as configured:
        carrying.carry_over(
            old, cast(Any, programs), cast(Any, programs), settings, slot, lambda _: None
        )
    left = {"shared_preload_libraries": "auto_explain", "work_mem": "8MB"}
    assert configured.value.args == (left,)
