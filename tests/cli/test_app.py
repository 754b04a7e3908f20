"""The program as a whole: usage errors in one manner, exit statuses, encodings, colour."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from steelyard.cli.app import _print_unraisable, usage_error
from thinned import thinned

COMMANDS = ("weigh", "drive", "engines", "studies", "report")


@pytest.mark.parametrize(
    ("arguments", "primary", "hint"),
    [
        (["weihg"], 'no such command "weihg"', 'Did you mean "weigh"?'),
        (["balance"], 'no such command "balance"', "Try `steelyard -h`, or --help of a command."),
        (["weigh", "--sed", "1"], "no such option: --sed", "--seed"),
        (["weigh", "aa", "--seed", "-1"], 'invalid value for "--seed"', "Try"),
        (["weigh", "aa", "bb"], "got unexpected extra argument", "Try"),
        (["report"], 'missing argument "record"', "Try"),
    ],
)
def test_wrong_usage_is_said_as_every_other_error_is(
    refused: Callable[..., str], arguments: list[str], primary: str, hint: str
) -> None:
    said = refused(*arguments)
    assert said.startswith(f"error: {primary}")
    assert hint in said


def test_a_near_command_is_suggested_by_the_program_itself_too() -> None:
    assert usage_error("No such command 'studeis'.").hint == 'Perhaps you meant "studies".'


def test_asked_for_nothing_it_shows_its_commands(steelyard: Callable[..., Any]) -> None:
    said = steelyard()
    assert said.returncode == 2
    assert "error: " not in said.stderr
    assert all(f"\n  {name} " in said.stderr for name in COMMANDS)


@thinned("arguments", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)], 1)
def test_help_needs_no_colour_and_no_frame(
    steelyard: Callable[..., Any], arguments: list[str]
) -> None:
    said = steelyard(*arguments, environment={"NO_COLOR": "1"})
    assert said.returncode == 0
    assert "Usage: " in said.stdout
    assert not re.search("[\x1b╭│╰]", said.stdout)


def test_it_says_its_version(steelyard: Callable[..., Any]) -> None:
    assert re.fullmatch(r"steelyard \d+\.\d+\.\d+\n", steelyard("--version").stdout)


@thinned(
    "environment",
    [
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    1,
)
def test_a_terminal_without_our_letters_gets_question_marks(
    steelyard: Callable[..., Any], environment: dict[str, str]
) -> None:
    said = steelyard("weigh", "Überwägung−−µ", environment=environment)
    assert said.returncode == 2
    assert 'error: unrecognized study: "' in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (KeyboardInterrupt(), ""),
        (SystemExit(143), ""),
        (ValueError("host=h password=sesame"), "ValueError: host=h password="),
    ],
)
def test_what_ends_a_closed_generator_is_a_defect_or_one_more_ctrl_c(
    error: BaseException,
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def closed() -> Iterator[None]:
        try:
            yield
        finally:
            raise error

    monkeypatch.setattr(sys, "unraisablehook", _print_unraisable)
    generator = closed()
    next(generator)
    del generator
    gc.collect()
    said = capsys.readouterr().err
    assert printed in said
    assert bool(said) == bool(printed)
    assert "sesame" not in said
