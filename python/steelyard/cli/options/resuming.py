"""What holds for every command that goes on with what was interrupted."""

from __future__ import annotations

from steelyard.model.errors import UsageError


def require_unchanged(what: str, command: str, *, changed: bool) -> None:
    """UsageError: more was named than the folder of what is resumed (`"a sweep"`)."""
    if changed:
        raise UsageError(
            f"cannot change {what} that is resumed",
            hint=f"Name only its folder: steelyard {command} --resume DIR",
        )
