"""The list of commands says what the commands say of themselves, and imports none of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import steelyard.cli.commands
from steelyard.cli.command_line import app, load_command
from steelyard.cli.commands import COMMANDS, FIRST_WORDS, GROUPS
from steelyard.model.errors import RecordError, UsageError


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_holds_the_help_of_each(name: str) -> None:
    first, _, _ = load_command(name).help.partition("\n\n")
    assert COMMANDS[name] == " ".join(first.split())


def test_every_module_with_a_command_is_in_the_list() -> None:
    modules = Path(steelyard.cli.commands.__path__[0]).rglob("*.py")
    registering = {m.stem for m in modules if "\ndef register(" in m.read_text(encoding="utf-8")}
    assert registering == set(COMMANDS)


def test_the_lines_of_all_groups_begin_in_one_column() -> None:
    lines = CliRunner().invoke(app, ["--help"]).output.splitlines()
    rows = [line for line in lines if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert len(rows) == len(COMMANDS)
    assert {row.index(COMMANDS[row.split()[0]].split()[0], 3) for row in rows} == {
        4 + max(map(len, COMMANDS))
    }


def test_every_command_is_listed_by_its_purpose_once() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    assert set(FIRST_WORDS) <= set(COMMANDS)


NOWHERE = "/no such folder"


@pytest.mark.parametrize(
    "words",
    [
        ("history", "--records", NOWHERE),
        ("history", "--records", NOWHERE, "list"),
        ("history", "--records", NOWHERE, "trend", "checksums"),
        ("history", "--json", "--records", NOWHERE, "trend", "checksums"),
        ("fleet", "--records", NOWHERE, "machines"),
        ("history", "--records", "/", "list", "--records", NOWHERE),
    ],
    ids=" ".join,
)
def test_an_option_before_a_command_of_a_group_is_that_command_s(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, RecordError)
    assert f'no folder of records: "{NOWHERE}"' in str(done.exception)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("weigh", "aa", "--budget", ""), "--budget"),
        (("weigh", "aa", "--budget="), "--budget"),
        (("weigh", "aa", "--workload", "", "--budget", "1m"), "--workload"),
        (("weigh", "checksums", "--from", ""), "--from"),
        (("weigh", "checksums", "--from", "/data", "--config="), "--config"),
        (("weigh", "sessions", "--address", "", "-f", "q.sql"), "--address"),
        (("weigh", "aa", "--as", ""), "--as"),
        (("weigh", "--resume", ""), "--resume"),
        (("calibrate", "--budget", ""), "--budget"),
        (("tune", "--memory", ""), "--memory"),
        (("drive", "-w", ""), "-w"),
        (("history", "list", "--records", ""), "--records"),
        (("history", "--records", "", "list"), "--records"),
        (("history", "bisect", "settings", "--budget="), "--budget"),
    ],
    ids=" ".join,
)
def test_an_option_without_a_letter_of_its_value_is_refused(
    words: tuple[str, ...], option: str
) -> None:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, UsageError)
    assert done.exception.primary == f"option {option} has an empty value"


@pytest.mark.parametrize(
    "words",
    [
        ("history", "list", "--records", NOWHERE, "--", ""),
        ("history", "--records", NOWHERE, "trend", ""),
        ("history", "trend", "--records", NOWHERE, "a="),
    ],
    ids=" ".join,
)
def test_what_is_no_value_of_an_option_may_be_empty(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert not str(done.exception or "").count("empty value")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("weigh", "settings", "--arm", "conf=a", "--arm", "conf=b"), "--arm"),
        (("weigh", "settings", "--arm=conf=a", "--arm", "conf=b"), "--arm"),
        (("weigh", "settings", "--control", "conf=a", "--control=conf=a"), "--control"),
        (
            ("weigh", "aa", "--sweep", "memory=1GB,2GB", "--sweep", "cost=a,b"),
            "--sweep",
        ),
        (("weigh", "aa", "--from", "/a", "--budget", "1m", "--from", "/b"), "--from"),
        (("weigh", "sessions", "--address", "host=a", "--address", "host=b"), "--address"),
        (("history", "bisect", "aa", "--along", "version=1,2", "--along=version=3"), "--along"),
    ],
    ids=" ".join,
)
def test_an_option_that_says_what_is_weighed_is_not_taken_for_another_of_its_kind(
    words: tuple[str, ...], option: str
) -> None:
    """The last one would be weighed, and the others left out unseen."""
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, UsageError)
    assert done.exception.primary == f"option {option} stands there twice"


@pytest.mark.parametrize(
    "words",
    [
        ("weigh", "nosuch", "--set", "a=1", "--set", "a=2", "--budget", "1m", "--budget", "2m"),
        ("history", "list", "--records", NOWHERE, "--", "--arm", "--arm"),
    ],
    ids=" ".join,
)
def test_other_options_may_stand_there_twice(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert "stands there twice" not in str(done.exception or "")


def test_what_libpq_leaves_to_the_environment_may_be_empty() -> None:
    words = ("drive", "-d", "", "-h", "", "-p", "", "-U", "", "-b", "nosuch")
    done = CliRunner().invoke(app, words)
    assert done.exception is not None
    assert "empty value" not in str(done.exception)


@pytest.mark.parametrize("words", [("--json", "list", "pgbench"), ("list", "pgbench", "--json")])
def test_a_switch_before_a_command_of_a_group_is_that_command_s(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["workloads", *words], catch_exceptions=False)
    assert json.loads(done.stdout)["name"] == "pgbench"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("fleet", "--question", "checksums", "collect", "."), "--question"),
        (("history", "--records", "records", "bisect", "versions"), "--records"),
        (("engines", "--as", "nobody", "clear"), "--as"),
    ],
    ids=" ".join,
)
def test_an_option_that_the_command_of_a_group_has_not_is_refused(
    words: tuple[str, ...], option: str
) -> None:
    done = CliRunner().invoke(app, words, prog_name="steelyard")
    assert isinstance(done.exception, UsageError)
    command = f"{words[0]} {words[3]}"
    assert done.exception.primary == f"steelyard {command} has no option {option}"
    assert command in (done.exception.hint or "")
