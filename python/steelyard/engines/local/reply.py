"""Holds what a query of a damaged table came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    """The result of one query: rows as text, an error, or a timeout."""

    answer: str = ""
    error: str = ""
    hung: bool = False
    died: bool = False  # the connection, and maybe the server with it
