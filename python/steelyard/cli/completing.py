"""Lets a shell ask what could stand at the end of a command line, by a variable that it sets."""

from __future__ import annotations

import os

VARIABLE = "_STEELYARD_COMPLETE"


def prepare_completion() -> None:
    """Make the parser answer a shell that asks; otherwise nothing of it is imported."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
