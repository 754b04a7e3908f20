"""Which database libpq takes where a string names none: a service's, then the environment's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.engines.postgres.guarded.process import configured_database

SERVICES = """
[prod]
host=db1
dbname=shop
user=u
[plain]
host=db2
user=shop
[same]
dbname=u
user=u
"""


@pytest.fixture(autouse=True)
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A service file; what is asked changes the environment, as in the process that is its own."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    file = tmp_path / "services.conf"
    file.write_text(SERVICES)
    before = dict(os.environ)
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path))
    yield file
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


@pytest.mark.parametrize(
    ("target", "environment", "name"),
    [
        ("host=x", {}, None),
        ("host=x", {"PGDATABASE": "analytics"}, "analytics"),
        ("service=prod", {}, "shop"),
        ("service=prod", {"PGDATABASE": "analytics"}, "shop"),
        ("postgresql:///?service=prod", {"PGDATABASE": "analytics"}, "shop"),
        ("host=x", {"PGSERVICE": "prod", "PGDATABASE": "analytics"}, "shop"),
        ("service=plain", {"PGSERVICE": "prod"}, None),
        ("service=plain", {"PGDATABASE": "analytics"}, "analytics"),
        ("service=same", {"PGDATABASE": "analytics"}, "u"),
        ("service=plain user=shop", {"PGUSER": "x"}, None),
    ],
)
def test_a_service_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, target: str, environment: dict[str, str], name: str | None
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert configured_database(target) == name
