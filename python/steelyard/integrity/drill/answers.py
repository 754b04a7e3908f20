"""Queries every copy of the drill's table by each access path, and compares with true answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.engines.postgres.sql.drill_queries import DRILL_QUERIES, Reply, run_drill_query
from steelyard.model.endpoint import Endpoint


@dataclass(frozen=True)
class Answers:
    """The replies of one copy, by access path."""

    replies: dict[str, Reply]

    @property
    def erred(self) -> set[str]:
        """Access paths on which the server raised an error."""
        return {path for path, reply in self.replies.items() if reply.error}

    @property
    def hung(self) -> set[str]:
        """Access paths on which the query timed out."""
        return {path for path, reply in self.replies.items() if reply.hung}

    def wrong(self, truth: Answers) -> set[str]:
        """Access paths whose answer is not the true one, whatever the others gave."""
        return {
            path
            for path, reply in self.replies.items()
            if not reply.error and not reply.hung and reply.answer != truth.replies[path].answer
        }

    def misread(self, truth: Answers) -> bool:
        """Whether a read fails or differs from the true rows; inserts do not count."""
        return bool((self.erred | self.hung | self.wrong(truth)) - {"insert"})


def query_copies(
    address: Endpoint, copies: Iterable[int], intact: tuple[int, Answers] | None = None
) -> dict[int, Answers]:
    """The answers of every copy, each query in a connection of its own.

    `intact`: an undamaged copy and its true answers. When the server dies over a copy, and then
    fails on the intact one too, the remaining copies are left out: their errors are not their own.
    """
    found: dict[int, Answers] = {}
    for number in copies:
        found[number] = query_copy(address, number)
        died = any(reply.died for reply in found[number].replies.values())
        if died and intact and query_copy(address, intact[0]) != intact[1]:
            break
    return found


def query_copy(address: Endpoint, number: int) -> Answers:
    """The answers of one copy."""
    return Answers({path: run_drill_query(address, path, number) for path in DRILL_QUERIES})
