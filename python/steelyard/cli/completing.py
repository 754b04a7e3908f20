"""Answers a shell's request to complete a command line; the variable `VARIABLE` marks one."""

from __future__ import annotations

import os

VARIABLE = "_STEELYARD_COMPLETE"


def prepare_completion() -> None:
    """Make the parser answer a shell's request; without one nothing of completion is imported."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
