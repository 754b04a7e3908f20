"""Who knows pgbench's options knows those of `steelyard drive`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steelyard.cli.command_line import app, load_command
from steelyard.cli.options.drive_parameters import ELSEWHERE
from steelyard.engines.postgres.builds.find import find_postgres


def ours() -> dict[str, set[str]]:
    """Every option of `drive`, with the other names that it has."""
    command = load_command("drive")
    names = [set(parameter.opts) for parameter in command.params]
    names.append(set(command.context_settings["help_option_names"]))
    return {name: together for together in names for name in together}


def elsewhere() -> dict[str, set[str]]:
    """Every option of the table, with the other names that it has."""
    names = [set(key.split(", ")) for key in ELSEWHERE]
    return {name: together for together in names for name in together}


@pytest.fixture(scope="module")
def theirs() -> list[set[str]]:
    """Every option of the bundled pgbench by its names."""
    program = Path(find_postgres("18").identity.bindir) / "pgbench"
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    lines = [re.match(r"  ((?:-[^-\s], )?--[a-z-]+)", line) for line in said.splitlines()]
    return [set(found[1].split(", ")) for found in lines if found]


def test_every_option_of_pgbench_is_ours_or_is_said_to_be_elsewhere(
    theirs: list[set[str]],
) -> None:
    assert len(theirs) > 40
    known = [{**ours(), **elsewhere()}.get(max(names, key=len), set()) for names in theirs]
    assert [names for names, our in zip(theirs, known, strict=True) if not names <= our] == []


def test_nothing_else_is_said_to_be_elsewhere(theirs: list[set[str]]) -> None:
    of_pgbench = set().union(*theirs)
    assert set(elsewhere()) <= of_pgbench
    assert not set(elsewhere()) & set(ours())


def test_the_help_shows_the_table() -> None:
    said = CliRunner().invoke(app, ["drive", "--help"]).stdout
    assert said == CliRunner().invoke(app, ["drive", "-?"]).stdout
    for names, instead in ELSEWHERE.items():
        assert re.search(f"{re.escape(names)} +{re.escape(instead)}", said)


def test_built_in_scripts_can_be_listed_and_read() -> None:
    listed = CliRunner().invoke(app, ["drive", "-b", "list"]).stdout.split()
    assert listed == ["tpcb-like", "simple-update", "select-only"]
    shown = CliRunner().invoke(app, ["drive", "--show-script", "select"]).stdout
    assert "SELECT abalance FROM pgbench_accounts" in shown
