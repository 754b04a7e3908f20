"""Searches everything below directories for tokens: contents, names, targets of links."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def files_with(tokens: Sequence[str], *places: Path) -> list[str]:
    """`"TOKEN: path"` of every file, name or link that holds one of the tokens."""
    return sorted(
        f"{token}: {path.relative_to(place)}"
        for place in places
        for path, content in _contents(place)
        for token in tokens
        if token.encode() in content
    )


def _contents(place: Path) -> Iterator[tuple[Path, bytes]]:
    for path in place.rglob("*"):
        content = os.fsencode(path.name)
        if path.is_symlink():
            content += os.fsencode(os.readlink(path))
        elif path.is_file():
            content += path.read_bytes()
        yield path, content


def require_unseen(token: str, printed: str, *places: Path) -> None:
    """Fails where a token was printed or written."""
    assert token not in printed
    assert files_with([token], *places) == []
