"""Statistics of an upgraded copy are gathered by the target of the server that its data are of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
