"""Every command that a document shows is taken by the program, and its study is one to weigh."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from steelyard.cli.command_line import load_command
from steelyard.cli.commands import COMMANDS
from steelyard.cli.options.address_options import with_addresses
from steelyard.cli.options.arm_options import require_unlike
from steelyard.cli.options.weigh_options import changes_of, one_query_changes
from steelyard.running.layout_choice import layout_beforehand
from steelyard.study.change import key_of
from steelyard.study.read import read_study
from steelyard.workloads.reading.resolved import resolve_workload

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for page in ROOT.glob("docs/**/*.md") if "decisions" not in page.parts),
        *ROOT.glob("python/steelyard/studies/*.toml"),
        *ROOT.glob("python/steelyard/report/**/*.html.j2"),
    ]
)
_LINE = re.compile(r"^(?: {4}|#  +|[$>] )?(?:[A-Z_]+=\S+ )*steelyard ([a-z]+(?: .*)?)$", re.M)
_INLINE = re.compile(r"(?:`|<code>)steelyard ([a-z]+(?: [^`<]*)?)(?:`|</code>)")
_STOPS = {"|", "||", "&&", ";", ">", "<", "...", "…"}
_PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|…")


def commands_of(text: str) -> Iterator[str]:
    """The commands of a page, each without the program's name."""
    joined = re.sub(r"\\\n[#>]?\s*", " ", text)
    prose = re.sub(r"\n#? *", " ", joined)
    for match in (*_LINE.finditer(joined), *_INLINE.finditer(prose)):
        yield match[1].replace("{{ record }}", "DIR")


def words_of(command: str) -> list[str]:
    """What the program gets: up to a comment, a pipe or the next command of the shell."""
    command = re.sub(r'"\$\(.*\)"', "output", re.sub(r"\$[AB]\b", "host=db", command))
    words: list[str] = []
    for word in shlex.split(command, comments=True):
        if word in _STOPS:
            break
        words.append("3" if word == "N" else word)
    return words


_command = cache(load_command)


def parameters(words: list[str]) -> dict[str, Any]:
    """What the parser makes of the words; its own error where they are no command."""
    name, *rest = words
    command = _command(name)
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        raise typer.BadParameter(f"{name} has no {rest[0]}")
    values: dict[str, Any] = command.make_context(name, rest).params
    return values


def problems(text: str) -> Iterator[str]:
    """Commands of a page that the parser refuses, each with its words."""
    for command in commands_of(text):
        words = words_of(command)
        if words[0] not in COMMANDS:
            yield f"steelyard {command}: there is no such command"
        elif len(words) > 1 and not all(word.isalpha() for word in words):
            try:
                parameters(words)
            except typer.TyperException as error:
                of_this_machine = error.format_message().endswith("is not readable.")
                if not of_this_machine and not _names_option(words):
                    yield f"steelyard {command}: {error.format_message()}"


def _names_option(words: list[str]) -> bool:
    """Whether the words name a command and an option of it, without its value."""
    *names, option = words
    if len(names) != 1 or not option.startswith("-"):
        return False
    try:
        parameters([*words, "VALUE"])
    except typer.TyperException:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_is_one_of_the_program(page: Path) -> None:
    refusals = [*problems(page.read_text(encoding="utf-8"))]
    assert not refusals, "\n" + "\n".join(refusals)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("`steelyard weigh checksums --budget 5m`", False),
        ("Try `steelyard weigh\nchecksums --budgt 5m`.", True),
        ("```\nsteelyard weigh checksums \\\n    --sede 1  # once more\n```", True),
        ("    steelyard wiegh checksums", True),
        ("`steelyard history compare`", False),
        ("`steelyard history compere a b-c`", True),
        ("`steelyard judge runs.csv --unit ms | less`", False),
    ],
)
def test_a_command_that_the_program_has_not_is_seen(text: str, refused: bool) -> None:
    assert bool([*problems(text)]) == refused


WEIGHINGS = [
    (page, words)
    for page in PAGES
    for command in commands_of(page.read_text(encoding="utf-8"))
    if command.startswith("weigh ") and not _PLACEHOLDER.search(command)
    for words in [words_of(command)]
    if len(words) > 2 and not words[1].startswith("-") and not words[1].endswith(".toml")
]
_ELSEWHERE = ("source", "workload", "control", "arm", "sweep")
"""Options that need what is on the reader's machine, or are asked of several studies."""


@pytest.mark.parametrize(
    "words", {tuple(words): words for _, words in WEIGHINGS}.values(), ids=" ".join
)
def test_every_weighing_that_a_page_shows_has_keys_that_there_are_and_fits_its_budget(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = parameters(words)
    study = options["study"]
    for script in options["file"] or ():
        name = script.partition("@")[0]
        if name.endswith(".sql"):
            (tmp_path / name).write_text("SELECT 1;\n")
    chosen = ("overrides", "budget", "workload", "file", "pace", "metric")
    changes = changes_of(*(options[name] for name in chosen))
    changes = [change for change in changes if key_of(change) != "workload" or "./" not in change]
    changes = with_addresses(changes, options["address"], options["control"], options["arm"])
    changes += one_query_changes(study, changes, options["file"])
    weighed = read_study(study, changes)
    if not any(options[name] for name in _ELSEWHERE):
        require_unlike(weighed)
        layout_beforehand(resolve_workload(weighed))
