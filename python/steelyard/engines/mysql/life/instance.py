"""A server of MySQL or MariaDB with its data directory, running or not: what a weighing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.engine import UNPROTECTED, Settings, Slot
from steelyard.engines.local.cloning import Manifest
from steelyard.engines.local.own_server import OwnServer, prepare_slot, require_short
from steelyard.engines.local.processes import processor_ns, threads_of
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.life.data_directory import (
    CRC32,
    PID_FILE,
    SUPERUSER,
    base_arguments,
    can_be_unprotected,
    product,
    serving_pid,
)
from steelyard.engines.mysql.life.server import Server, ThreadAccount, freeze, thaw
from steelyard.engines.mysql.settings import (
    OUR_SETTINGS,
    as_options,
    by_one_name,
    normal,
    refuse_slot_settings,
)
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.sql.innodb_status import KINDS, RedoLogWatch, WritingOut, read_counters
from steelyard.engines.mysql.sql.plans import read_plans
from steelyard.engines.mysql.sql.variables import (
    fill_pool,
    read_served,
    read_settings,
    read_threads,
)
from steelyard.engines.programs import pin
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity
from steelyard.model.process import TreeUse
from steelyard.model.readings import Kind, Sample


class MysqlInstance(OwnServer[Build, Server]):
    """One server; implements LocalInstance, Clonable, Protection, Tunable, Placeable, Freezable,
    Suspendable, Crashable, Observable, Countable, Plans, Checkpointer, CheckpointsSeen, Warmable,
    Capped and HoldsWorkload."""

    noun = "server"

    def __init__(
        self,
        build: Build,
        identity: Identity,
        account: Account,
        directory: Path,
        manifest: Manifest | None = None,
    ) -> None:
        super().__init__(build, identity, account, directory, manifest)
        self._protection = CRC32
        self._accounting: ThreadAccount | None = None
        self._frozen = False
        self._used_ns: int | None = None
        """Processor time that it had used when it was suspended; None: it is not."""

    @property
    def address(self) -> Endpoint:
        """Where superuser "root" reaches it, without a database; only after a start."""
        slot = self._placed()
        return Endpoint(str(_socket(slot)), slot.port, SUPERUSER, "", protocol=MYSQL)

    def _prepare(self, slot: Slot, settings: Settings) -> list[str]:
        refuse_slot_settings(settings)
        require_short(_socket(slot))
        checksums = (
            {} if self._protection == CRC32 else {"innodb_checksum_algorithm": self._protection}
        )
        temporary = slot.path / "tmp"
        arguments = [
            *base_arguments(self._build, self._directory),
            f"--pid-file={self._directory / PID_FILE}",
            f"--tmpdir={temporary}",
            f"--port={slot.port}",
            "--skip-networking",
            *as_options({**OUR_SETTINGS, **checksums, **normal(settings)}),
        ]
        prepare_slot(slot, self._account)
        self._account.make_directory(temporary)
        return arguments

    def _begin(
        self, slot: Slot, arguments: list[str], log: Path, group: MemoryGroup | None
    ) -> Server:
        # Its own identifier among servers that replicate; made anew where there is none.
        self._account.remove([self._directory / "auto.cnf"])
        name, socket = f"{product(self._identity)} in slot {slot.number}", _socket(slot)
        server = Server.launch(
            name, self._build, self._account, self._directory, socket, log, arguments, group
        )
        self._accounting = ThreadAccount(server.pid, self._account)
        self._frozen, self._used_ns = False, None  # of another life, which was ended so
        return server

    def crash(self) -> None:
        """Kill at once, and leave nothing running."""
        self._required()
        self.discard()

    def discard(self) -> None:
        """Kill at once; what is on disk then must be put back before it is used."""
        self._frozen, self._used_ns = False, None  # SIGKILL ends a stopped process too
        with self._ending() as server:
            if server is not None:
                server.kill()

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again, written as that is; bytes
        that were copied."""
        self._require_stopped("restore")
        self._protection = CRC32
        return super().restore(template)

    def protect(self, level: str) -> None:
        """With which algorithm the next start writes pages; "none" writes a constant and verifies
        nothing that is read. Pages keep the checksum that they have until they are written."""
        self._require_stopped("change page protection of")
        if level == UNPROTECTED and not can_be_unprotected(self._identity):
            raise EngineError(
                f"{product(self._identity)} cannot leave pages unverified",
                detail="MariaDB took innodb_checksum_algorithm = none away in 10.6 (MDEV-25105).",
                hint='Weigh it on MySQL, version = "mysql-5.7".',
            )
        self._protection = level

    def settings(self) -> dict[str, str]:
        """Every global setting by name, as the server reports it."""
        self._required()
        return by_one_name(read_settings(self.address))

    def workload_database(self) -> MysqlDatabase:
        """Database "steelyard", which workloads are loaded into; it answers in a server that is
        held still too, which goes on for as long as that takes."""
        return MysqlDatabase(self.address, self._answering)

    def place(self, processors: Mapping[int, Sequence[int]]) -> None:
        """Pin the threads that serve these connections: by connection id, as the driver knows it.
        A thread serves another connection when its client has gone: the map is read each time, and
        a connection that has ended is left out. EngineError: the server does not report the thread
        of one that is there."""
        self._required()
        served = read_served(self.address)
        threads = served.threads
        assert self._accounting is not None  # set by every launch
        self._accounting.serving(threads)
        missing = served.unknown & processors.keys()
        if missing or not threads:
            raise EngineError(
                f"{product(self._identity)} does not tell which threads serve its connections",
                detail=f"Of {len(processors)} connections {len(missing)} are there without a "
                "thread that is known.",
                hint="Leave performance_schema on, performance_schema_max_thread_instances large "
                'enough, and thread_handling without a pool; or weigh with placement = "free".',
            )
        pin(
            self._account,
            {
                threads[connection]: where
                for connection, where in processors.items()
                if connection in threads
            },
        )

    def freeze(self) -> None:
        """SIGSTOP the whole process: its threads cannot be stopped one by one. For a server without
        a request under way."""
        server = self._required()
        if not self._frozen:
            with suppress(EngineError):  # then what they use is in no figure of sessions
                self._learn_sessions()
            freeze(server.pid)
            self._frozen = True

    def thaw(self) -> None:
        """SIGCONT what `freeze` stopped; safe to call twice."""
        if self._frozen and self._server is not None:
            thaw(self._server.pid)
        self._frozen, self._used_ns = False, None

    def suspend(self) -> None:
        """The same, with account of what it used by then."""
        if self._used_ns is None:
            self.freeze()
            self._used_ns = processor_ns(self._required().pid)

    def resume(self) -> int:
        """SIGCONT what `suspend` stopped; ns of processor time that it used meanwhile."""
        before_ns, server = self._used_ns, self._server
        used_ns = 0 if before_ns is None or server is None else processor_ns(server.pid) - before_ns
        if before_ns is not None:
            self.thaw()
        return max(0, used_ns)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        frozen = self._frozen
        self.thaw()
        try:
            yield
        finally:
            if frozen and self.running:
                self.freeze()

    def use(self) -> TreeUse:
        """Processor time and I/O of the process since its start, thread by thread."""
        self._required()
        assert self._accounting is not None  # set by every launch
        if not self._frozen:
            self._learn_sessions()
        return self._accounting.use()

    def _learn_sessions(self) -> None:
        """Ask the server which of its threads serve clients, where they are not as many as when it
        was asked last; one that stands still has no answer."""
        server, accounting = self._required(), self._accounting
        assert accounting is not None  # set by every launch
        if len(threads_of(server.pid)) != accounting.looked_at:
            accounting.serving(read_threads(self.address))
            accounting.looked_at = len(threads_of(server.pid))

    @property
    def counter_kinds(self) -> Sequence[Kind]:
        """What its status variables count."""
        return KINDS

    def counters(self, database: str) -> Sample:
        """The cumulative counters."""
        return read_counters(self.address)

    def plans(self, database: str, scripts: Mapping[str, str]) -> dict[str, str]:
        """The plan of every statement in the scripts (name → text)."""
        return read_plans(self._in(database), scripts)

    def checkpointer(self, database: str) -> WritingOut:
        """A connection that makes it write the dirty pages of a database, and its log."""
        return WritingOut(self._in(database), lambda: self.running)

    def watch_checkpoints(self, database: str, now_ns: Callable[[], int]) -> RedoLogWatch:
        """Begin to watch its log: InnoDB checkpoints all the time."""
        return RedoLogWatch(self._in(database), self._identity.kind)

    def fill_pool(self, database: str) -> PoolFill:
        """Read tables and indexes into the buffer pool, as far as they fit."""
        return fill_pool(self._in(database))

    def _in(self, database: str) -> Endpoint:
        return replace(self.address, database=database)

    def _serving_pid(self) -> int | None:
        return serving_pid(self._directory)


def _socket(slot: Slot) -> Path:
    return slot.socket_directory / f"m{slot.port}"
