"""Executes a workload's statements; what the server says against one names where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.model.errors import ServerError
from steelyard.workloads.loading.side_by_side import Halt

if TYPE_CHECKING:
    import psycopg

    from steelyard.workloads.reading.workload import Workload

_SHOWN = 200
"""Characters of a statement that are quoted."""


def source_of(workload: Workload, part: str) -> str:
    """How a message says where a statement of a workload stands."""
    return f'workload "{workload.name}": {part}'


def execute(
    connection: psycopg.Connection, statements: Sequence[str], source: str, halt: Halt | None = None
) -> list[int]:
    """Rows of each statement by its command tag, -1 where it tells none.

    ServerError begins with `source`, which names workload and file, and quotes the statement.
    """
    rows = []
    for statement in statements:
        if halt:
            halt.check()
        with named(source, statement):
            rows.append(connection.execute(statement.encode()).rowcount)
    return rows


@contextmanager
def named(source: str, statement: str) -> Iterator[None]:
    """What the server says against a statement becomes a ServerError that says which it was."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        said = error.diag.message_primary or str(error).strip()
        shown = " ".join(statement.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} ..."
        more = [text for text in (error.diag.message_detail, f"In: {shown}") if text]
        raise ServerError(
            f"{source}: {said}", detail=" ".join(more), hint=error.diag.message_hint
        ) from error
