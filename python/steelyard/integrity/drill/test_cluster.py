"""Creates the cluster that a drill damages: many copies of one table with known content.

A fault goes into one copy, so that one start of the server tests as many faults as there are
copies. The cluster keeps each file as it was before the last writes, for stale and torn pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local.own_server import Reply
from steelyard.engines.local.owned_files import overwrite, read_below, replace_text
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.drill_tables import (
    DRILL_QUERIES,
    create_table,
    file_paths,
    run_drill_query,
    update_tables,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError

MARKER = "steelyard.drill"
"""A file in every data directory that a drill made; faults are planted nowhere else."""
MOST_BYTES = 1 << 30
"""Of a file of the cluster: a segment."""
QUIET_SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "restart_after_crash": "on",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "shared_buffers": "32MB",
    "log_min_messages": "warning",
}
"""Nothing writes to the files but the drill."""


@dataclass(frozen=True)
class TestCluster:
    """A stopped template that is never damaged, a clone that is, and their known content."""

    __test__ = False  # for pytest, which collects classes by their names

    engine: Postgres
    template: Cluster
    clone: Cluster
    slot: Slot
    copies: int  # that are damaged; one more, with this number, never is
    files: dict[tuple[int, str], str]  # (copy, place) → path relative to the data directory
    earlier: dict[str, bytes]  # path → the file before the last writes
    truth: dict[int, Answers]
    start: int  # the earliest LSN at which a base backup of the clone begins

    @property
    def intact(self) -> tuple[int, Answers]:
        """The copy that is never damaged, and its true answers."""
        return self.copies, self.truth[self.copies]

    def current(self, path: str) -> bytes:
        """A file without damage."""
        return read_below(self.template.directory, path, MOST_BYTES)

    def read(self, path: str) -> bytes:
        """A file of the clone."""
        return read_below(self.clone.directory, path, MOST_BYTES)

    def write(self, path: str, content: bytes, at: int | None = None) -> None:
        """Write into a file of the clone, which a drill made: from byte `at` on, or all of it."""
        require_drill_cluster(self.clone.directory)
        overwrite(self.engine.account, self.clone.directory / path, content, at)

    def restore(self) -> None:
        """Remove all damage from the clone."""
        if self.clone.running:
            self.clone.crash()
        self.clone.stop()
        self.clone.restore(self.template.directory)

    def prepare(self, arm: str) -> None:
        """Remove all damage from the clone, and set its checksums for the arm."""
        require_drill_cluster(self.clone.directory)
        self.restore()
        if arm == "off":
            self.clone.protect("none")

    @contextmanager
    def running(self, settings: Settings | None = None) -> Iterator[Cluster]:
        """The clone while it runs; killed at the end, as a checkpoint would overwrite faults."""
        self.clone.start(self.slot, {**QUIET_SETTINGS, **(settings or {})})
        try:
            yield self.clone
        finally:
            if self.clone.running:
                self.clone.crash()


def make_test_cluster(engine: Postgres, slot: Slot, copies: int) -> TestCluster:
    """A new cluster whose tables were loaded and then updated, and its clone."""
    template = engine.create(slot.path / "template", protection="checksums")
    replace_text(
        engine.account,
        template.directory / MARKER,
        "A drill made this directory and may damage it.\n",
    )
    template.start(slot, QUIET_SETTINGS)
    for number in range(copies + 1):
        create_table(template.address, number)
    files = file_paths(template.address)
    template.stop()
    earlier = {path: read_below(template.directory, path, MOST_BYTES) for path in files.values()}
    template.start(slot, QUIET_SETTINGS)
    update_tables(template.address, copies + 1)
    template.stop()
    start = read_control(template.directory / CONTROL_FILE)["redo"]
    clone = template.clone(slot.path / "drilled")
    cluster = TestCluster(engine, template, clone, slot, copies, files, earlier, {}, start)
    with cluster.running() as server:
        truth = query_copies(server.address, range(copies + 1))
    cluster.restore()
    return replace(cluster, truth=truth)


def require_drill_cluster(directory: Path) -> None:
    """UsageError unless a drill made this data directory."""
    if not (directory / MARKER).is_file():
        raise UsageError(
            f'cannot damage "{directory}": it was not made by a drill',
            hint="A drill makes its own clusters; there is no way to point it at another.",
        )


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
    answers: dict[int, Answers] = {}
    for number in copies:
        answers[number] = query_copy(address, number)
        died = any(reply.died for reply in answers[number].replies.values())
        if died and intact and query_copy(address, intact[0]) != intact[1]:
            break
    return answers


def query_copy(address: Endpoint, number: int) -> Answers:
    """The answers of one copy."""
    return Answers({path: run_drill_query(address, path, number) for path in DRILL_QUERIES})
