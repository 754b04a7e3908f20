"""Puts the commands together and turns errors into exit statuses.

0 the command did its work, 1 a `--fail-if` condition holds, 2 wrong usage or a wrong study,
3 the weighing could not be completed, 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from steelyard import __version__
from steelyard.cli import drive, engines, report, studies, weigh
from steelyard.errors import SteelyardError

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


for command in (weigh, drive, engines, studies, report):
    command.register(app)


def main() -> None:
    """The `steelyard` program."""
    try:
        app(standalone_mode=True)
    except SteelyardError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
