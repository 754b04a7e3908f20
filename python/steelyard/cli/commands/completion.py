"""`steelyard completion`: prints the script by which a shell completes the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from steelyard.cli.app import COMPLETION
from steelyard.model.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("completion")(completion)


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")],
) -> None:
    """Print what makes a shell complete commands, options and studies: source it, or keep it."""
    if shell not in SHELLS:
        raise UsageError(
            f'no completion for "{shell}"', hint=f"There is one for {', '.join(SHELLS)}."
        )
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="steelyard", complete_var=COMPLETION, shell=shell))
