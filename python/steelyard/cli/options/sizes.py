"""Reads the value of an option that is a size."""

from __future__ import annotations

from steelyard.model.errors import UsageError
from steelyard.model.units import parse_bytes


def size_option(text: str | None) -> int | None:
    """Bytes of `"512MB"`; None where the option was not given. UsageError: it is no size."""
    if text is None:
        return None
    try:
        return parse_bytes(text)
    except ValueError:
        raise UsageError(f'invalid size: "{text}"', hint="Accepted: 512MB, 2GB.") from None
