"""Runs a drill of InnoDB: damages tables page by page, and collects what noticed it.

Under each checksum algorithm the same faults are planted. What is counted is what a server says
that reads the damaged tables, what innochecksum says of their files, and what a scrub does.

The server that is damaged holds copies of one table with known content. A fault goes into one copy,
so that one start of the server tests as many faults as there are copies. Each file is kept as it
was before the last writes, for lost writes and torn pages.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.local.own_server import Reply
from steelyard.engines.local.owned_files import overwrite, read_below, replace_text
from steelyard.engines.mysql.adapter import find_arms
from steelyard.engines.mysql.builds.build import MARIADB
from steelyard.engines.mysql.life.data_directory import CRC32, product
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.mysql import Mysql
from steelyard.engines.mysql.sql.drill_tables import (
    DATABASE,
    DRILL_QUERIES,
    create_tables,
    run_drill_query,
    update_tables,
)
from steelyard.engines.registry import open_run
from steelyard.integrity.drill.drill import Progress, require_known
from steelyard.integrity.drill.files import score
from steelyard.integrity.drill.matrix import NO_START, PLANTED, DetectionMatrix, Rate
from steelyard.integrity.drill.test_cluster import (
    MARKER,
    MOST_BYTES,
    Answers,
    require_drill_cluster,
)
from steelyard.integrity.innodb.faults import FAULTS, PLACES, damaged_page, pages_by_place
from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb
from steelyard.model.errors import ServerError, SteelyardError
from steelyard.model.identity import Identity

DIED = "query: server dies"
"""Its queries count as errors, too."""
INNOCHECKSUM, SCRUB = "innochecksum", "scrub"
_UNKNOWN_TO_INNOCHECKSUM = ("none", "innodb")
_LOGGED = re.compile(r"page id: space=(\d+), page number|\bdrill_(\d+)\b")


@dataclass(frozen=True)
class InnodbDrillRequest:
    """What to drill, and how often."""

    version: str  # "mysql-5.7", "mariadb-10.11.19", or a build's name
    account: str | None = None
    copies: int = 20  # of the table: times that each fault is planted in each place
    faults: Sequence[str] = tuple(FAULTS)
    places: Sequence[str] = PLACES
    seed: int = 1


@dataclass(frozen=True)
class InnodbDrillResult:
    """What a drill found; an arm of the matrix is a checksum algorithm."""

    product: str  # "MySQL 5.7.29"
    algorithms: tuple[str, ...]
    seed: int
    copies: int
    seconds: float
    files: DetectionMatrix
    ended_by: BaseException | None = None
    """What ended the drill early (Ctrl-C, SIGTERM, a failure); the caller raises it at the end."""

    def to_json(self) -> dict[str, Any]:
        """As `drill --json` gives it."""
        return {
            "engine": "innodb",
            "version": self.product,
            "algorithms": list(self.algorithms),
            "seed": self.seed,
            "copies": self.copies,
            "seconds": round(self.seconds, 1),
            "files": self.files.to_json(),
            "interrupted": self.ended_by is not None,
        }


def algorithms_of(identity: Identity) -> tuple[str, ...]:
    """The checksum algorithms that a server can write pages with. MariaDB took "none" and "innodb"
    away in 10.6 (MDEV-25105); full_crc32 came with its 10.4."""
    if identity.kind != MARIADB:
        return ("none", "crc32", "innodb")
    number = identity.version_number
    older = () if number >= 100600 else ("none",)
    return (*older, "crc32", *(("full_crc32",) if number >= 100400 else ()))


def drill_innodb(request: InnodbDrillRequest, progress: Progress) -> InnodbDrillResult:
    """Drill every algorithm; a drill that is ended early returns what was found by then.

    UsageError: an unknown fault or place. EngineError: no such build.
    """
    began = time.monotonic()
    require_known("fault", request.faults, tuple(FAULTS))
    require_known("place", request.places, PLACES)
    [engine] = find_arms([BuildRequest(request.version)], request.account, contrib=False)
    name, algorithms = product(engine.identity), algorithms_of(engine.identity)
    matrix, ended_by = DetectionMatrix(), None
    with open_run(open_cache(), engine.account) as run:
        try:
            for algorithm in algorithms:
                progress(f"test server: {request.copies} tables, {name}, checksums {algorithm}")
                server = make_test_server(engine, run.slot(0), algorithm, request.copies)
                drill_server(server, request, progress, matrix)
        except (KeyboardInterrupt, SystemExit, SteelyardError, OSError) as error:
            ended_by = error
    return InnodbDrillResult(
        product=name,
        algorithms=algorithms,
        seed=request.seed,
        copies=request.copies,
        seconds=time.monotonic() - began,
        files=matrix,
        ended_by=ended_by,
    )


def drill_server(
    server: TestServer, request: InnodbDrillRequest, progress: Progress, matrix: DetectionMatrix
) -> None:
    """Plant every fault in every place, once in each copy, and count what notices it.

    Adds each result to `matrix` at once, since a drill may be interrupted.
    """
    for fault in request.faults:
        for place in request.places:
            progress(f"{fault} in {place}, checksums {server.algorithm}")
            # The same seed under every algorithm draws the same faults.
            rng = random.Random(f"{request.seed} {fault} {place}")
            try:
                damaged = plant_in_copies(server, fault, place, rng)
                planted = Rate(len(damaged), server.copies)
                matrix.add(fault, place, server.algorithm, PLANTED, planted)
                if damaged:
                    _run_checks(server, fault, place, damaged, matrix)
            finally:
                server.restore()


def plant_in_copies(server: TestServer, fault: str, place: str, rng: random.Random) -> list[int]:
    """Plant a fault in each copy of the clone; the copies that it changed."""
    server.prepare()
    damaged = []
    for number in range(server.copies):
        current = server.current(number)
        foreign = server.current((number + 1) % (server.copies + 1))
        pages = pages_by_place(current)[place]
        fault_at = damaged_page(fault, current, server.earlier[number], foreign, pages, rng)
        if fault_at is not None:
            at, page = fault_at
            server.write(number, page, at)
            damaged.append(number)
    return damaged


def _run_checks(
    server: TestServer, fault: str, place: str, damaged: Sequence[int], matrix: DetectionMatrix
) -> None:
    def count(check: str, noticed: Iterable[int] | None, times: int = len(damaged)) -> None:
        if noticed is not None:
            rate = Rate(len(set(noticed) & set(damaged)), times)
            matrix.add(fault, place, server.algorithm, check, rate)

    count(SCRUB, detect_by_scrub(server))
    count(INNOCHECKSUM, detect_by_innochecksum(server, damaged))
    log = log_of(server)
    begun = log.stat().st_size
    try:
        with server.running():
            answers = server.query_copies(damaged)
    except ServerError:
        count(NO_START, damaged)
        return
    logged = copies_logged(
        server, read_below(log.parent, log.name, MOST_BYTES)[begun:].decode(errors="replace")
    )
    for check, noticed in score(answers, server.truth, logged, DRILL_QUERIES).items():
        count(check, noticed, len(answers))
    died = (n for n, each in answers.items() if any(reply.died for reply in each.replies.values()))
    count(DIED, died, len(answers))


def detect_by_scrub(server: TestServer) -> set[int]:
    """Copies in which `steelyard scrub` finds damage."""
    outcome = scrub_innodb(InnodbRequest(server.clone.directory, threads=1), lambda *_: None)
    by_path = {path_of(number): number for number in range(server.copies)}
    return {by_path[finding.path] for finding in outcome.bad if finding.path in by_path}


def detect_by_innochecksum(server: TestServer, copies: Iterable[int]) -> set[int] | None:
    """Copies whose files innochecksum refuses; None: the build has none that runs here, or it does
    not know the algorithm."""
    version = server.engine.run_program(INNOCHECKSUM, "--version")
    if server.algorithm in _UNKNOWN_TO_INNOCHECKSUM or version is None or version[0] != 0:
        return None

    def refused(number: int) -> bool:
        path = server.clone.directory / path_of(number)
        done = server.engine.run_program(INNOCHECKSUM, str(path))
        return done is not None and done[0] != 0

    return {number for number in copies if refused(number)}


def copies_logged(server: TestServer, log: str) -> set[int]:
    """Copies that a server's log names, by the number of their tablespace or by their table."""
    spaces = {server.space(number): number for number in range(server.copies)}
    copies = set()
    for space, table in _LOGGED.findall(log):
        copies.add(int(table) if table else spaces.get(int(space), -1))
    return copies


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
