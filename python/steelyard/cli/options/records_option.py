"""The option that names the folder below which records stand, and what of it was not read.

Checks that a file could be written, before the work whose outcome it is to hold.

What holds for every command that goes on with what was interrupted.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.model.errors import RecordError, UsageError
from steelyard.model.files.own_directory import write_named

if TYPE_CHECKING:
    from steelyard.history.index import History

RecordsOption = Annotated[
    Path, typer.Option("--records", metavar="DIR", help="The folder below which records stand.")
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml", help='What hosts cost: [prices], then "db1" = "0.504 USD/h".'
    ),
]
RECORDS = Path("records")
"""Where `weigh` keeps them."""


def name_unread(history: History) -> None:
    """Say on standard error what stands among the records and is in no answer."""
    for refused in history.unread_summary:
        typer.echo(f"not read: {refused.path}: {refused.reason}", err=True)


def require_writable(file: Path | None) -> None:
    """UsageError: it could not be; None asks for nothing."""
    if file is None:
        return
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(
            f'could not write "{file}"', hint="Name a file in a directory that can be written to."
        )


def write_output(file: Path, text: str) -> None:
    """Write a file that an option names. RecordError: it cannot be written, perhaps no longer."""
    try:
        write_named(file, text)
    except OSError as reason:
        raise RecordError(
            f'could not write "{file}": {(reason.strerror or str(reason)).lower()}',
            hint="Name a file in a directory that can be written to.",
        ) from None


def require_unchanged(what: str, command: str, *, changed: bool) -> None:
    """UsageError: more was named than the folder of what is resumed (`"a sweep"`)."""
    if changed:
        raise UsageError(
            f"cannot change {what} that is resumed",
            hint=f"Name only its folder: steelyard {command} --resume DIR",
        )


def require_own_place(
    command: str, resume: Path | None, seed: int | None, record: Path | None
) -> None:
    """UsageError: what is resumed was given another seed, or another place."""
    options = {"--seed": seed, "--record": record}
    refused = [option for option, value in options.items() if value is not None]
    if resume is not None and refused:
        raise UsageError(
            f"option {refused[0]} does not go with --resume: what is resumed keeps its seed and "
            "its place",
            hint=f"Name only its folder: steelyard {command} --resume DIR",
        )
