"""Makes the server that a drill of InnoDB damages: copies of one table with known content.

A fault goes into one copy, so that one start of the server tests as many faults as there are
copies. Each file is kept as it was before the last writes, for lost writes and torn pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.engine import Slot
from steelyard.engines.local.own_server import Reply
from steelyard.engines.local.owned_files import overwrite, read_below, replace_text
from steelyard.engines.mysql.life.data_directory import CRC32
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.mysql import Mysql
from steelyard.engines.mysql.sql.drill_tables import (
    DATABASE,
    DRILL_QUERIES,
    create_tables,
    run_drill_query,
    update_tables,
)
from steelyard.integrity.drill.test_cluster import (
    MARKER,
    MOST_BYTES,
    Answers,
    require_drill_cluster,
)
from steelyard.model.errors import ServerError

QUIET_SETTINGS = {
    "innodb_buffer_pool_size": "67108864",
    "innodb_log_file_size": "8388608",
    "innodb_flush_log_at_trx_commit": "0",
    # What was deleted is gone and every page is in its place when a server has stopped.
    "innodb_fast_shutdown": "0",
    "loose_innodb_change_buffering": "none",
    "loose_performance_schema": "OFF",
}
"""Nothing writes to the tables' files but the drill."""
_SPACE = slice(34, 38)  # FIL_PAGE_SPACE_ID of fil0fil.h


@dataclass(frozen=True)
class TestServer:
    """A stopped template that is never damaged, a clone that is, and their known content."""

    __test__ = False  # for pytest, which collects classes by their names

    engine: Mysql
    template: MysqlInstance
    clone: MysqlInstance
    slot: Slot
    algorithm: str
    copies: int  # that are damaged; one more, with this number, never is
    earlier: dict[int, bytes]  # copy → its file before the last writes
    truth: dict[int, Answers]

    def current(self, copy: int) -> bytes:
        """A copy's file without damage."""
        return read_below(self.template.directory, path_of(copy), MOST_BYTES)

    def space(self, copy: int) -> int:
        """The number of a copy's tablespace."""
        return int.from_bytes(self.current(copy)[_SPACE], "big")

    def write(self, copy: int, content: bytes, at: int) -> None:
        """Write into a copy's file of the clone, which a drill made, from byte `at` on."""
        require_drill_cluster(self.clone.directory)
        overwrite(self.engine.account, self.clone.directory / path_of(copy), content, at)

    def restore(self) -> None:
        """Remove all damage from the clone, whose server is killed where it runs."""
        self.clone.discard()
        self.clone.restore(self.template.directory)

    def prepare(self) -> None:
        """Remove all damage from the clone, which a drill made."""
        require_drill_cluster(self.clone.directory)
        self.restore()

    def start(self) -> None:
        """Start the clone; ServerError: it does not."""
        self.clone.start(self.slot, _settings(self.algorithm))

    @contextmanager
    def running(self) -> Iterator[MysqlInstance]:
        """The clone while it runs; killed at the end, as it would write over faults."""
        self.start()
        try:
            yield self.clone
        finally:
            self.clone.discard()

    def query_copies(self, copies: Iterable[int]) -> dict[int, Answers]:
        """The answers of every copy. A server that dies of one is started again for the next; where
        it does not start any more, the remaining copies are left out."""
        answers: dict[int, Answers] = {}
        for number in copies:
            replies: dict[str, Reply] = {}
            answers[number] = Answers(replies)
            for path in DRILL_QUERIES:
                replies[path] = run_drill_query(self.clone.address, path, number)
                if replies[path].died:
                    self.clone.discard()
                    try:
                        self.start()
                    except ServerError:
                        return answers
        return answers


def make_test_server(engine: Mysql, slot: Slot, algorithm: str, copies: int) -> TestServer:
    """A new server whose tables were loaded and then updated, and its clone."""
    template = engine.create(slot.path / f"template-{algorithm}", protection=CRC32)
    replace_text(
        engine.account,
        template.directory / MARKER,
        "A drill made this directory and may damage it.\n",
    )
    template.start(slot, _settings(algorithm))
    create_tables(template.address, copies + 1)
    template.stop()
    earlier = {
        number: read_below(template.directory, path_of(number), MOST_BYTES)
        for number in range(copies)
    }
    template.start(slot, _settings(algorithm))
    update_tables(template.address, copies + 1)
    template.stop()
    clone = template.clone(slot.path / f"drilled-{algorithm}")
    server = TestServer(engine, template, clone, slot, algorithm, copies, earlier, {})
    with server.running():
        truth = server.query_copies(range(copies + 1))
    server.restore()
    for number, answers in truth.items():
        if answers.erred or answers.hung:
            raise ServerError(f"could not read table {number} of a drill", detail=str(answers))
    return replace(server, truth=truth)


def path_of(copy: int) -> str:
    """A copy's file, relative to the data directory."""
    return f"{DATABASE}/drill_{copy}.ibd"


def _settings(algorithm: str) -> dict[str, str]:
    return {**QUIET_SETTINGS, "innodb_checksum_algorithm": algorithm}


def log_of(server: TestServer) -> Path:
    """The log of the server."""
    return server.slot.path / "server.log"
