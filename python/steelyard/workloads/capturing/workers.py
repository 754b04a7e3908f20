"""Leaves out what parallel workers wrote: the leader of a query says the same of it.

Knows what nodes of a cluster sent each other for a query of a client's.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from steelyard.workloads.capturing.logs.entry import WORKER, LogEntry
from steelyard.workloads.capturing.memory import RecentSessions

_LATER = 64
"""So many entries after a worker's error its leader's is looked for."""


def without_workers(entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries but those of parallel workers. Where the log does not say whose an entry is, an
    error is a worker's if nothing else is there of its process, and the leader then says that it
    was. An error of which this is not yet known comes later than others'."""
    waiting = deque[tuple[int, LogEntry]]()
    sessions = RecentSessions()
    for number, entry in enumerate(entries):
        if entry.of_worker or (entry.severity == "FATAL" and WORKER in entry.message):
            continue
        while waiting and number - waiting[0][0] > _LATER:
            _, client = waiting.popleft()
            sessions.add(client.session)
            yield client
        own = [pair for pair in waiting if pair[1].session == entry.session]
        is_known = not entry.session or entry.session in sessions
        workers = [pair for pair in waiting if _is_leader_of(pair[1], entry, is_known)]
        for pair in (*own, *workers):
            waiting.remove(pair)
        yield from (earlier for _, earlier in own)
        is_alone = not (own or is_known)
        if is_alone and not workers and entry.severity == "ERROR" and entry.statement:
            waiting.append((number, entry))
            continue
        sessions.add(entry.session)
        yield entry
    yield from (entry for _, entry in waiting)


_NODE = re.compile(r"citus(?:_internal|_rebalancer|_run_command)?(?: gpid=\d+)?")
"""What Citus calls its own connections (application_name)."""
_BEGIN, _OPERATOR = "assign_distributed_transaction_id(", "OPERATOR("
_SHARD = re.compile(r"_[1-9]\d{5,}\b")
"""Citus numbers shards behind the names of their tables (orders_102008), and writes operators of
queries on them with their schema."""


def is_of_node(application: str, text: str) -> bool:
    """Whether a node of Citus sent a statement to another one, by the name of its connection, or in
    a log without names by what no client writes."""
    if _NODE.fullmatch(application) is not None or _BEGIN in text:
        return True
    before, operator, _ = text.partition(_OPERATOR)
    return bool(operator) and _SHARD.search(before) is not None


def _is_leader_of(worker: LogEntry, leader: LogEntry, is_known: bool) -> bool:
    """Whether an error is the same as one that a worker had: its context has a line more, which
    says so in whatever language. `is_known`: whether the leader's process did more than fail."""
    if leader.severity != "ERROR" or leader.session == worker.session:
        return False
    if (leader.message, leader.statement) != (worker.message, worker.statement):
        return False
    inner, _, last = leader.context.rpartition("\n")
    if is_known and last == WORKER and worker.context == leader.context:
        return True
    return bool(last) and worker.context == inner
