"""Who knows pgbench's options knows those of `steelyard drive`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steelyard.cli.command_line import app, load_command
from steelyard.cli.options.drive_options import read_seed
from steelyard.cli.options.drive_parameters import ELSEWHERE
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import UsageError


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


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scripts.md"


def documented() -> dict[frozenset[str], str]:
    """What the page says of each option of pgbench: same, other or none."""
    rows = re.findall(r"^\| `(-[^`]+)` \| (same|other|none) \|", PAGE.read_text("utf-8"), re.M)
    return {frozenset(names.split(", ")): verdict for names, verdict in rows}


def test_the_page_has_each_option_of_pgbench_18_and_the_one_of_19(theirs: list[set[str]]) -> None:
    of_pgbench = {frozenset(names) for names in theirs} | {frozenset({"--continue-on-error"})}
    assert set(documented()) == of_pgbench


def test_the_page_says_none_of_exactly_those_that_are_not_here() -> None:
    for names, verdict in documented().items():
        assert names <= set(elsewhere() if verdict == "none" else ours()), names


@pytest.mark.parametrize("names", ELSEWHERE)
def test_an_option_of_pgbench_that_is_not_here_is_refused_with_what_to_use(names: str) -> None:
    for option in names.split(", "):
        for words in ([option], [f"{option}=7" if option.startswith("--") else f"{option}7"]):
            with pytest.raises(UsageError) as refused:
                CliRunner().invoke(app, ["drive", *words, "bench"], catch_exceptions=False)
            assert option in refused.value.primary
            assert refused.value.hint in ELSEWHERE.values()
            assert refused.value.hint != "As -i."


def test_a_misspelt_option_is_no_option_of_pgbench() -> None:
    said = CliRunner().invoke(app, ["drive", "--partition", "3"])
    assert said.exit_code == 2
    assert "pgbench" not in str(said.exception)


@pytest.mark.parametrize("text", ["0", "7", str((1 << 64) - 1)])
def test_a_seed_of_64_bits_is_a_number(text: str) -> None:
    assert read_seed(text) == int(text)


@pytest.mark.parametrize("text", ["time", "rand"])
def test_a_seed_by_a_word_differs_from_load_to_load(text: str) -> None:
    assert len({read_seed(text) for _ in range(10)}) > 1


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "TIME", "٣", str(1 << 64)])
def test_another_seed_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="unrecognized random seed"):
        read_seed(text)


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
