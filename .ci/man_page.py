"""Prints the manual page: every command with its options, as the program has them.

.venv/bin/python .ci/man_page.py > packaging/steelyard.data/data/share/man/man1/steelyard.1
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from reference import WIDTH, commands

from steelyard import __version__
from steelyard.cli.command_line import load_command

HEAD = """.TH STEELYARD 1 "" "steelyard {version}" "User Commands"
.SH NAME
steelyard \\- a laboratory for databases
.SH SYNOPSIS
.B steelyard
.I COMMAND
.RI [ OPTION ]...
.SH DESCRIPTION
Steelyard weighs settings, versions, builds and page verification of a database against each other
on the machine at hand, noisy or not, and gives a verdict with an interval, an error rate that is
kept, a cause, and its doubts.
.PP
.B steelyard weigh checksums
answers in minutes what data checksums cost here.
.SH COMMANDS
"""
FOOT = """.SH EXIT STATUS
.TP
.B 0
The command did its work, whatever the verdict.
.TP
.B 1
A \\fB\\-\\-fail\\-if\\fR condition holds, a scrub found damage, the doctor a warning, an upgrade a
hindrance, or a record of others was refused.
.TP
.B 2
Wrong usage, a wrong study, or a load that did nothing.
.TP
.B 3
It could not be completed.
.TP
.B 130, 143, 129, 131, 141
Interrupted (Ctrl-C); by SIGTERM; by a terminal that was closed; by Ctrl-\\e; by a pipe whose reader
ended.
.SH ENVIRONMENT
.TP
.B STEELYARD_CACHE
Where loaded data, engines and slots are kept; /var/cache/steelyard for root, else
~/.cache/steelyard.
.SH FILES
.TP
.I records/
What was weighed, a folder each: study, plan, slices, verdict, report.html.
.SH SEE ALSO
.BR pgbench (1),
.BR pg_checksums (1),
.BR fio (1)
"""


def man_page() -> str:
    """The whole page, as troff."""
    os.environ.update({"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1"})
    parts = [HEAD.format(version=__version__)]
    for path in sorted(commands()):
        command = load_command(path[0])
        for word in path[1:]:
            command = command.commands[word]
        parts += _section(path, command)
    return "".join(parts) + FOOT


def _section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    name = " ".join(("steelyard", *path))
    options = {"resilient_parsing": True, "help_option_names": ["-h", "--help"]}
    with command.make_context(name, [], **options) as context:
        usage = " ".join(("steelyard", *path, *command.collect_usage_pieces(context)))
        yield f'.SS "{escaped(usage)}"\n'
        yield f"{escaped(' '.join((command.help or '').split()))}\n"
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                names, description = record
                yield f".TP\n\\fB{escaped(names)}\\fR\n{escaped(' '.join(description.split()))}\n"


def escaped(text: str) -> str:
    """Text that troff prints as it stands; a line of it never begins as a request does."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    text = re.sub(r"^([.'])", r"\\&\1", text)
    return "".join(
        character if character.isascii() else f"\\[u{ord(character):04X}]" for character in text
    )


if __name__ == "__main__":
    print(man_page(), end="")
