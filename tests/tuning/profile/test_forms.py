"""A profile is written so that a server, psql and a study read it."""

from __future__ import annotations

import tomllib

from steelyard.tuning.profile.advice import as_arm, as_configuration, as_sql
from steelyard.tuning.profile.profile import make_profile
from tuning.profile.accepting import ALLOWED, basis

MADE = make_profile("ours", basis(), ALLOWED)
BUILD = "PostgreSQL 16.14"


def test_the_first_line_says_which_server_accepts_the_settings() -> None:
    assert as_configuration(MADE, BUILD).startswith("# ours for PostgreSQL 16.14: ")
    assert as_sql(MADE, BUILD).startswith("-- ours for PostgreSQL 16.14\n")


def test_a_configuration_file_has_every_setting_with_its_reason() -> None:
    lines = as_configuration(MADE, BUILD).splitlines()
    read = dict(line.split(" = ") for line in lines if line and not line.startswith("#"))
    assert {name: value.strip("'") for name, value in read.items()} == MADE.settings
    assert all(len(line) <= 100 for line in lines)
    assert sum(line.startswith("#") for line in lines) > len(MADE.settings)


def test_sql_sets_all_and_names_what_waits_for_a_restart() -> None:
    text = as_sql(MADE, BUILD)
    assert "ALTER SYSTEM SET shared_buffers = '4GB';" in text
    assert "SELECT pg_reload_conf();" in text
    waiting = text.splitlines()[-1]
    assert "shared_buffers" in waiting
    assert "work_mem" not in waiting


def test_an_arm_is_toml() -> None:
    [arm] = tomllib.loads(as_arm(MADE))["arm"]
    assert arm == {"name": "ours", "settings": MADE.settings}
