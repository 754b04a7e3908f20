"""Prints an error: its words on standard error and, under `--json`, one object on standard output.

Who parses standard output so finds one object there whatever happened, and who reads a log the same
words as ever. Where a command had printed its object before it failed, none is added.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress

from steelyard.cli.terminal import OutputError, printed
from steelyard.model.errors import SteelyardError
from steelyard.model.secrets.redaction import redacted

END_WORDS = {
    129: "its terminal was closed",
    130: "interrupted",
    131: "ended by SIGQUIT",
    143: "ended by SIGTERM",
}
"""Exit status → what ended the command from outside."""


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` stands among the words of a command line, before a `--`."""
    return "--json" in [*arguments, "--"][: [*arguments, "--"].index("--")]


def print_error(error: SteelyardError) -> int:
    """Print an error and return its exit status."""
    print(error, file=sys.stderr)
    _print_object(error.primary, error.detail, error.hint, error.exit_status)
    return error.exit_status


def print_defect(trace: str, error: BaseException) -> None:
    """Print a traceback, without secrets; the interpreter ends with exit status 1."""
    print(redacted(trace), file=sys.stderr, end="")
    primary = redacted(f"defect of Steelyard: {type(error).__name__}: {error}")
    _print_object(primary, None, "Standard error has its traceback.", 1)


def print_end(status: int) -> None:
    """What ended the command from outside, where the exit status says that something did."""
    primary = END_WORDS.get(status)
    if primary is None:
        return
    if status == 130:
        print(primary, file=sys.stderr)
    _print_object(primary, None, None, status)


def _print_object(primary: str, detail: str | None, hint: str | None, status: int) -> None:
    if wants_json(sys.argv[1:]) and not printed(sys.stdout):
        error = {"primary": primary, "detail": detail, "hint": hint, "status": status}
        with suppress(OutputError):  # standard error has the words
            print(json.dumps({"error": error}))
            sys.stdout.flush()
