"""Under `--json` every error is one object on standard output, beside its usual words."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import error_words
from steelyard.cli.app import wants_json
from steelyard.cli.command_line import load_command
from steelyard.cli.commands import COMMANDS
from thinned import thinned

Call = Callable[..., Any]
NOWHERE = ("--records", "nowhere")
FAILING: dict[str, tuple[str, ...]] = {
    "weigh": ("nosuch",),
    "upgrade": ("--from", "nowhere", "--to", "18"),
    "calibrate": ("--weight", "3"),
    "judge": ("nowhere.csv",),
    "drive": ("host=nowhere.invalid", "-f", "nowhere.sql"),
    "scrub": ("nowhere",),
    "drill": ("--version", "1"),
    "checksums": ("nowhere",),
    "doctor": ("--seconds", "never"),
    "probe": ("nowhere",),
    "tune": ("--memory", "lots"),
    "studies": ("nosuch",),
    "report": ("nowhere", "--rejudge"),
    "history": ("nosuch",),
    "history bisect": ("nosuch", "--along", "version=16,18"),
    "history list": NOWHERE,
    "history compare": ("one", "other", *NOWHERE),
    "history trend": ("nosuch", *NOWHERE),
    "history export": ("file.xml",),
    "fleet": NOWHERE,
    "fleet collect": ("nowhere",),
    "fleet check": ("nowhere.toml",),
    "fleet machines": NOWHERE,
    "fleet run": ("nowhere.toml",),
    "reproduce": ("nosuch",),
    "site": ("-o", "pages", *NOWHERE),
    "serve": NOWHERE,
    "engines": ("nosuch",),
    "engines list": ("nosuch",),
    "engines add": ("nowhere",),
    "engines remove": ("nosuch",),
    "engines clear": ("nosuch",),
    "workloads": ("nosuch",),
    "workloads capture": ("nowhere.log", "-o", "out"),
    "workloads list": ("nosuch",),
    "workloads load": ("nosuch",),
}
"""Every command that has `--json` → words by which it fails."""


def with_json(command: Any, words: tuple[str, ...]) -> Iterator[str]:
    """The commands that have the option, by their words."""
    if any("--json" in parameter.opts for parameter in command.params):
        yield " ".join(words)
    for name, inner in getattr(command, "commands", {}).items():
        yield from with_json(inner, (*words, name))


def test_every_command_with_the_option_is_tried_here() -> None:
    every = {words for name in COMMANDS for words in with_json(load_command(name), (name,))}
    assert every == set(FAILING)


@thinned("command", FAILING, 7)
def test_a_failure_is_one_object_with_the_words_of_standard_error(
    forked: Call, command: str
) -> None:
    said = forked(*command.split(), "--json", *FAILING[command])
    assert said.returncode in (2, 3)
    assert error_words(said) in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("command", ["weigh", "drive", "history list", "engines add"])
def test_so_is_wrong_usage(forked: Call, command: str) -> None:
    said = forked(*command.split(), "--nosuch-option", "--json")
    assert said.returncode == 2
    assert error_words(said) == said.stderr.rstrip("\n")
    primary = json.loads(said.stdout)["error"]["primary"]
    assert primary.startswith("no such option: --nosuch-option")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("workloads capture --listen 5555 --to x --certificate y -o z", "workloads capture"),
        ("report nowhere --json", "report"),
        ("weigh checksums --budget 1s", "weigh"),
    ],
)
def test_a_refusal_without_a_hint_of_its_own_names_the_help(
    forked: Call, words: str, command: str
) -> None:
    said = forked(*words.split())
    assert said.returncode == 2
    assert f"HINT:  Try `steelyard {command} -h`." in said.stderr


def test_the_status_is_that_without_the_option(forked: Call) -> None:
    for command, words in (("weigh", ("nosuch",)), ("history list", NOWHERE)):
        plain, as_json = (forked(*command.split(), *option, *words) for option in ((), ("--json",)))
        assert plain.returncode == as_json.returncode
        assert plain.stderr == as_json.stderr
        assert plain.stdout == ""


def test_secrets_stay_out_of_the_object(forked: Call) -> None:
    said = forked("drive", "host=nowhere.invalid password=hunter2", "-b", "nosuch", "--json")
    assert said.returncode in (2, 3)
    assert "hunter2" not in said.stdout + said.stderr


def test_an_option_behind_two_dashes_is_none() -> None:
    assert wants_json(["weigh", "--json"])
    assert not wants_json(["weigh", "--", "--json"])
    assert not wants_json(["weigh"])


PROGRAM = """
import sys
from steelyard.cli import app
from steelyard.model.errors import SteelyardError
from steelyard.study import read

def fail():
    {before}
    raise {error}

read.builtin_studies = fail
sys.argv = ["steelyard", "studies", "--json"]
app.main()
"""


def ended(error: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    """The program, in which `studies` ends with this error."""
    words = [sys.executable, "-c", PROGRAM.format(error=error, before=before)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_a_defect_is_an_object_too_and_standard_error_has_its_traceback() -> None:
    """It was not completed: 1 would close a gate, and say that a scrub found damage."""
    done = ended('ValueError("password=hunter2")')
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["primary"].startswith("defect of Steelyard: ValueError: ")
    assert error["status"] == 3
    assert "Traceback" in done.stderr
    assert "hunter2" not in done.stdout


def test_a_defect_after_the_verdict_was_printed_closes_no_gate() -> None:
    done = ended('KeyError("summary")', 'print("{}")')
    assert done.returncode == 3
    assert done.stdout == "{}\n"
    assert "KeyError" in done.stderr


def test_none_is_added_where_the_command_had_printed_its_object() -> None:
    done = ended('SteelyardError("late")', 'print("{}")')
    assert done.returncode == 3
    assert done.stdout == "{}\n"
    assert done.stderr == "error: late\n"


ENDED = """
import signal
from steelyard.cli.app import main
usual = signal.default_int_handler if {number} == signal.SIGINT else signal.SIG_DFL
signal.signal({number}, usual)  # a shell's background jobs ignore it
main()
"""


@thinned(
    ("number", "status", "primary"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGQUIT, 131, "ended by SIGQUIT"),
    ],
    1,
)
def test_what_is_ended_from_outside_says_so(
    number: int, status: int, primary: str, tmp_path: Path
) -> None:
    code = ENDED.format(number=int(number))
    words = [sys.executable, "-c", code, "doctor", "--seconds", "60", "--json", "."]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "STEELYARD_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert "looking for 60 s" in process.stderr.readline()
        process.send_signal(number)
        answer = json.loads(process.stdout.read())
        assert process.wait(60) == status
    assert answer == {"error": {"primary": primary, "detail": None, "hint": None, "status": status}}


@thinned(
    ("number", "typed"),
    [
        (errno.ENOSPC, "room"), (errno.EDQUOT, "quota"), (errno.EROFS, "STEELYARD_CACHE"),
        (errno.EMFILE, "ulimit -n"), (errno.EAGAIN, "ulimit -u"), (errno.ENOMEM, "memory"),
        (errno.EIO, "dmesg"),
    ], 1,
)  # fmt: skip
def test_what_the_machine_refuses_is_no_defect_and_says_what_to_type(
    number: int, typed: str
) -> None:
    done = ended(f'OSError({number}, "Refused For Now", "/some/place")')
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith('error: could not go on at "/some/place": refused for now\n')
    assert error_words(done) == done.stderr.rstrip("\n")
    assert typed in json.loads(done.stdout)["error"]["hint"]


@pytest.mark.parametrize("error", ["FileNotFoundError(2, 'No such', 'x')", "OSError('odd')"])
def test_every_other_error_of_the_system_is_a_defect(error: str) -> None:
    done = ended(error)
    assert done.returncode == 3
    assert "Traceback" in done.stderr
