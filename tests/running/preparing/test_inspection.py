"""What is noted of the arms before they are weighed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.engines.differences import SettingRules
from steelyard.model.errors import UsageError, WeighingError
from steelyard.running.preparing.inspection import _inspect, _require_unlike, bare_settings
from steelyard.study.read import read_study
from story.asked import study_of
from story.noop.journal import NOOP_IDENTITY


def test_a_setting_without_its_unit_is_said_with_what_the_server_takes_it_for() -> None:
    settings = ("shared_buffers=128", "work_mem=64MB", "jit=off", "temp_buffers=0")
    study = read_study(
        "settings", [*(f"settings.{one}" for one in settings), "arm.settings.checkpoint_timeout=90"]
    )
    reported = {
        "shared_buffers": "128 8kB", "work_mem": "65536 kB", "jit": "off", "temp_buffers": "0 8kB",
        "max_connections": "300",
    }  # fmt: skip
    control, arm = (one.name for one in study.every_arm)
    every = {control: reported, arm: {**reported, "checkpoint_timeout": "90 s"}}
    assert list(bare_settings(study, every)) == [
        "shared_buffers = 128 has no unit: the server takes 128 × 8kB",
        "checkpoint_timeout = 90 has no unit: the server takes 90 s",
    ]


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (None, "weigh equal arms as such"),
        (
            {"place": "/data/18"},
            """--set 'sql=["ALTER DATABASE steelyard RESET jit", "ALTER ROLE ALL RESET jit"]'""",
        ),
    ],
)
def test_arms_to_whose_sessions_the_database_gives_one_value_are_equal(
    source: dict[str, str] | None, hint: str
) -> None:
    """ALTER DATABASE shop SET jit = off counts more than what servers are started with."""
    study = study_of(
        control={"name": "before", "settings": {"jit": "on"}},
        arms=[{"name": "after", "settings": {"jit": "off"}}],
        source=source,
    )
    reported = {"jit": "off"}
    with pytest.raises(UsageError, match="after and before are equal: jit is off in both") as error:
        _require_unlike(study, study.arms[0], {"jit"}, reported, reported, str.lower, {})
    assert hint in str(error.value.hint)


@pytest.mark.parametrize("statement", ["ALTER DATABASE steelyard SET Jit = off", "ANALYZE"])
def test_what_an_arms_own_sql_sets_for_its_database_is_a_declared_difference(
    statement: str,
) -> None:
    study = study_of(control={"name": "before"}, arms=[{"name": "after", "sql": [statement]}])
    settings = {"before": {"jit": "on"}, "after": {"jit": "off"}}
    identities = dict.fromkeys(settings, NOOP_IDENTITY)
    arms = SimpleNamespace(settings=settings, identities=identities, unloaded={})
    slots = SimpleNamespace(setting_rules=SettingRules(), residency="slices")
    builds = SimpleNamespace(declared=lambda name: set())
    setup = SimpleNamespace(study=study, slots=slots, builds=builds)
    if "jit" in statement.lower():
        inspected = _inspect(cast(Any, setup), cast(Any, arms), study.arms[0])
        assert ("jit", "on", "off") in inspected.differences.declared
    else:
        with pytest.raises(WeighingError, match="they differ where the study does not declare it"):
            _inspect(cast(Any, setup), cast(Any, arms), study.arms[0])
