"""Puts the commands together and turns errors into exit statuses.

0 the command did its work, 1 a `--fail-if` condition holds or a scrub found damage, 2 wrong usage
or a wrong study, 3 it could not be completed, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import difflib
import importlib
import io
import re
import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from steelyard import __version__
from steelyard.model.errors import SteelyardError, UsageError

INTERRUPTED = 130

app = typer.Typer(
    name="steelyard",
    help="A laboratory for databases: weighs settings, versions and page verification.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """A laboratory for databases: weighs settings, versions and page verification."""


COMMANDS = (
    "weigh",
    "calibrate",
    "judge",
    "drive",
    "scrub",
    "drill",
    "checksums",
    "engines",
    "workloads",
    "studies",
    "report",
)


def _wanted(arguments: list[str]) -> tuple[str, ...]:
    """The command that is asked for; all of them where it is not that clear.

    Importing them all takes twice the time of one, and `drive` is measured from its start.
    """
    asked = tuple(arguments[1:2])
    return asked if asked and asked[0] in COMMANDS else COMMANDS


for _name in _wanted(sys.argv):
    importlib.import_module(f"steelyard.cli.commands.{_name}").register(app)


def main() -> None:
    """The `steelyard` program."""
    signal.signal(signal.SIGTERM, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no "µ" gets a "?"
    try:
        status = app(standalone_mode=False)
    except SteelyardError as error:
        raise SystemExit(_say(error)) from None
    except typer.TyperException as error:  # what the command line's parser refuses
        if len(sys.argv) == 1:
            print(error.format_message(), file=sys.stderr)  # nothing was asked: the help
            raise SystemExit(UsageError.exit_status) from None
        raise SystemExit(_say(usage_error(error.format_message()))) from None
    except KeyboardInterrupt:  # once more, on the way out
        status = INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that it could interrupt
    if status == INTERRUPTED:
        print("interrupted", file=sys.stderr)
    raise SystemExit(status)


def _say(error: SteelyardError) -> int:
    print(error, file=sys.stderr)
    return error.exit_status


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Asked to end: everything that cleans up after itself does so on the way out."""
    raise SystemExit(128 + number)


def usage_error(message: str) -> UsageError:
    """What the parser says, as every other error is said: its first sentence, then the advice."""
    primary, _, advice = message.rstrip(".").replace("'", '"').partition(". ")
    near = _NO_COMMAND.match(primary)
    if near and not advice:
        found = difflib.get_close_matches(near[1], [c.name or "" for c in app.registered_commands])
        advice = f'Perhaps you meant "{found[0]}".' if found else ""
    return UsageError(
        primary[:1].lower() + primary[1:],
        hint=advice or "Try `steelyard -h`, or --help of a command.",
    )


_NO_COMMAND = re.compile(r'No such command "(.*)"')
