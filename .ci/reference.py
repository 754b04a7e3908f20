"""Prints docs/reference/commands.md: the help of every command, as the program gives it."""

from __future__ import annotations

import os

from typer.testing import CliRunner

from steelyard.cli.command_line import app, load_command
from steelyard.cli.commands import COMMANDS, GROUPS

WIDTH = 100
HEAD = """# Commands

Every command with its options, as `steelyard COMMAND --help` prints them. This page is generated
by `.venv/bin/python .ci/reference.py > docs/reference/commands.md`, and a test holds it to the
program. [What to type, by question](questions.md). What each command reads, writes and loads is in
[SAFETY.md](../../SAFETY.md).

Exit status: 0 the command did its work, whatever the verdict; 1 a `--fail-if` condition holds, a
scrub or `drive --check` found damage, the doctor a warning, an upgrade a hindrance, or a record
of others was refused; 2 wrong usage, a wrong study, or a load that did nothing; 3 it could not be
completed, by a defect too; 130 interrupted (Ctrl-C), 143 by SIGTERM, 129 by a terminal that was
closed, 131 by Ctrl-\\, 141 by a pipe whose reader ended. `--fail-if slower:2%` fails only where
the whole interval lies beyond 2 %: *inconclusive* and *invalid* never do. What `weigh --json`
holds is in [the record](record.md). `STEELYARD_CACHE` names another place for [the
cache](../../SAFETY.md#where-things-are-and-how-they-go-away).

Under `--json` standard output holds one JSON object whatever happens. After an error, wrong usage
included, or when the command was ended from outside, it is

    {"error": {"primary": "unrecognized study: ...", "detail": "...", "hint": null, "status": 2}}

`detail` and `hint` may be null; `status` is the exit status, which `--json` does not change.
Standard error has the same words as without it. No other object has the key `error`.
"""


def reference() -> str:
    """The whole page."""
    os.environ.update({"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1"})
    parts = [HEAD, purposes()]
    for path in sorted(commands()):
        output = CliRunner().invoke(app, [*path, "--help"], prog_name="steelyard")
        parts.append(f"## steelyard {' '.join(path)}\n\n```\n{output.stdout.strip()}\n```\n")
    return "\n".join(parts)


def purposes() -> str:
    """The commands by purpose, each with a link to its part of the page."""
    links = {
        purpose: ", ".join(f"[{name}](#steelyard-{name})" for name in names)
        for purpose, names in GROUPS.items()
    }
    rows = [f"| {purpose} | {names} |" for purpose, names in links.items()]
    return "\n".join(["| purpose | commands |", "|---|---|", *rows, ""])


def commands() -> list[tuple[str, ...]]:
    """Every command by its words, subcommands after their groups."""
    return [path for name in COMMANDS for path in _below(load_command(name), (name,))]


def _below(command: object, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    paths = [path]
    for name, each in inner.items():
        paths += _below(each, (*path, name))
    return paths


if __name__ == "__main__":
    print(reference(), end="")
