"""A server of MySQL or MariaDB with its data directory, running or not: what a weighing needs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import UNPROTECTED, PoolFill, Settings, Slot
from steelyard.engines.local import cloning
from steelyard.engines.local.ending import kill
from steelyard.engines.local.samples import sample
from steelyard.engines.memory.cap import MemoryCap, MemoryUse
from steelyard.engines.memory.group import MemoryGroup, naming_oom_kills
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
from steelyard.engines.mysql.life.server import Server, quoted
from steelyard.engines.mysql.life.thread_account import ThreadAccount, threads_of
from steelyard.engines.mysql.settings import (
    OUR_SETTINGS,
    as_options,
    normal,
    refuse_slot_settings,
)
from steelyard.engines.mysql.sql.counters import KINDS, read_counters
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.sql.plans import read_plans
from steelyard.engines.mysql.sql.pool import fill_pool
from steelyard.engines.mysql.sql.variables import read_settings, read_threads
from steelyard.engines.mysql.sql.writing_out import WritingOut
from steelyard.engines.programs import pin
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity
from steelyard.model.process import TreeUse
from steelyard.model.readings import Kind, Sample

SOCKET_PATH_LIMIT = 107  # sun_path of struct sockaddr_un holds 108 bytes with the final zero
_STILL_S = 2.0
_POLL_S = 0.001


class MysqlInstance:
    """One server; implements LocalInstance, Clonable, Protection, Tunable, Placeable, Freezable,
    Crashable, Observable, Countable, Plans, Checkpointer, Warmable, Capped and HoldsWorkload."""

    def __init__(
        self,
        build: Build,
        identity: Identity,
        account: Account,
        directory: Path,
        manifest: cloning.Manifest | None = None,
    ) -> None:
        self._build = build
        self._identity = identity
        self._account = account
        self._directory = directory
        self._manifest: cloning.Manifest = manifest or {}
        self._protection = CRC32
        self._server: Server | None = None
        self._last_log = ""  # of the life before
        self._slot: Slot | None = None
        self._group: MemoryGroup | None = None
        self._accounting: ThreadAccount | None = None
        self._frozen = False

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def account(self) -> Account:
        """The account that the data directory belongs to and the server runs under."""
        return self._account

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.running

    @property
    def pid(self) -> int:
        """The server's process id; EngineError when it is not running."""
        return self._required().pid

    @property
    def address(self) -> Endpoint:
        """Where superuser "root" reaches it, without a database; only after a start."""
        if self._slot is None:
            raise EngineError(f'server "{self._directory}" has no address: it was never started')
        where = str(_socket(self._slot))
        return Endpoint(where, self._slot.port, SUPERUSER, "", protocol=MYSQL)

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot and wait until it accepts connections; ServerError quotes the log."""
        self.launch(slot, settings)
        self.await_ready()

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot; EngineError where it runs or cannot be launched."""
        self._require_stopped("start")
        given = self._arguments(slot, settings)
        log = _prepare_slot(slot, self._account)
        cloning.require_reachable(self._account, self._directory)
        # Its own identifier among servers that replicate; made anew where there is none.
        (self._directory / "auto.cnf").unlink(missing_ok=True)
        name = f"{product(self._identity)} in slot {slot.number}"
        self._slot = slot
        self._group = None if slot.memory is None else MemoryGroup.make(slot.memory, slot.path)
        where = self._directory
        try:
            self._server = Server.launch(
                name, self._build, self._account, where, _socket(slot), log, given, self._group
            )
        except BaseException:
            self._leave_group()
            raise
        self._accounting = ThreadAccount(self._server.pid, self._account)

    def _arguments(self, slot: Slot, settings: Settings) -> list[str]:
        refuse_slot_settings(settings)
        own = {} if self._protection == CRC32 else {"innodb_checksum_algorithm": self._protection}
        return [
            *base_arguments(self._build, self._directory),
            f"--pid-file={self._directory / PID_FILE}",
            f"--tmpdir={_temporary(slot)}",
            f"--port={slot.port}",
            "--skip-networking",
            *as_options({**OUR_SETTINGS, **own, **normal(settings)}),
        ]

    def await_ready(self) -> None:
        """Wait until it accepts connections; ServerError quotes the log, nothing of it is left."""
        server = self._server
        if server is None:
            raise EngineError(f'server "{self._directory}" was not launched')
        try:
            with naming_oom_kills(self._group, f"could not start {server.name}"):
                server.await_ready(self._group)
        except BaseException:
            self._server = None
            self._leave_group()
            raise

    def begin_stop(self) -> None:
        """Begin a clean shutdown, which `stop` waits for; nothing where it does not run."""
        self.thaw()
        if self._server is not None and self._server.running:
            self._server.begin_stop()

    def stop(self) -> None:
        """Stop cleanly, every dirty page written. Of a server that died by itself only the remains
        are removed; `last_words` quotes it."""
        self.thaw()
        server, self._server = self._server, None
        if server is None:
            return
        try:
            with naming_oom_kills(self._group, f"could not stop {server.name}"):
                if server.running:
                    server.stop()
                else:
                    server.kill()
        finally:
            self._leave_group()
            self._last_log = server.words()

    def crash(self) -> None:
        """Kill at once, and leave nothing running."""
        self._required()
        self.discard()

    def discard(self) -> None:
        """Kill at once; what is on disk then must be put back before it is used."""
        server, self._server, self._frozen = self._server, None, False
        if server is None:
            return
        try:
            server.kill()
        finally:
            self._leave_group()
            self._last_log = server.words()

    @property
    def memory_cap(self) -> MemoryCap | None:
        """The cap of the slot that it was started in last."""
        return None if self._slot is None else self._slot.memory

    def memory_use(self) -> MemoryUse | None:
        """What the group of this life tells; None where it has no cap, or is stopped."""
        return None if self._group is None else self._group.use()

    def _leave_group(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.close()

    def last_words(self) -> str:
        """The errors of this life's (or the last one's) log, else its tail."""
        return quoted(self._server.words() if self._server is not None else self._last_log)

    def clone(self, directory: Path) -> MysqlInstance:
        """Copy this stopped server's data to `directory` (reflink where possible, else copy)."""
        self._require_stopped("clone")
        manifest = cloning.clone(self._directory, directory, self._account)
        return MysqlInstance(self._build, self._identity, self._account, directory, manifest)

    def adopted(self, build: Build, identity: Identity) -> MysqlInstance:
        """This stopped server's data, to be started by another build of the same layout."""
        self._require_stopped("hand over")
        return MysqlInstance(build, identity, self._account, self._directory, self._manifest)

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again; bytes that were copied."""
        self._require_stopped("restore")
        self._protection = CRC32
        copied, self._manifest = cloning.restore(
            template, self._directory, self._account, self._manifest
        )
        return copied

    def move(self, directory: Path) -> None:
        """Rename this stopped server's data directory, within one file system."""
        self._require_stopped("move")
        directory.parent.mkdir(parents=True, exist_ok=True)
        self._directory.rename(directory)
        self._directory = directory

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
        return read_settings(self.address)

    def workload_database(self) -> MysqlDatabase:
        """Database "steelyard", which workloads are loaded into."""
        return MysqlDatabase(self.address)

    def place(self, processors: Mapping[int, Sequence[int]]) -> None:
        """Pin the threads that serve these connections: by connection id, as the driver knows it.
        A thread serves another connection when its client has gone, so it is asked each time."""
        threads = self._threads()
        pin(
            self._account,
            {threads[one]: where for one, where in processors.items() if one in threads},
        )

    def _threads(self) -> dict[int, int]:
        self._required()
        threads = read_threads(self.address)
        assert self._accounting is not None  # set wherever _server is
        self._accounting.serving(threads)
        if not threads:
            raise EngineError(
                f"{product(self._identity)} does not tell which threads serve its connections",
                hint='Leave performance_schema on, or weigh with placement = "free".',
            )
        return threads

    def freeze(self) -> None:
        """SIGSTOP the whole process: its threads cannot be told to stop one by one. For a server
        without a request under way."""
        server = self._required()
        if self._frozen:
            return
        kill(server.pid, signal.SIGSTOP)
        self._frozen = True
        deadline = time.monotonic() + _STILL_S
        while (now := sample(server.pid)) is not None and now.state not in "TtZX":
            if time.monotonic() > deadline:
                self.thaw()
                raise ServerError(f"could not hold {server.name} still within {_STILL_S:.0f} s")
            time.sleep(_POLL_S)

    def thaw(self) -> None:
        """SIGCONT what `freeze` stopped; safe to call twice."""
        if self._frozen and self._server is not None:
            kill(self._server.pid, signal.SIGCONT)
        self._frozen = False

    def use(self) -> TreeUse:
        """Processor time and I/O of the process since its start, thread by thread."""
        server = self._required()
        assert self._accounting is not None  # set wherever _server is
        known = self._accounting
        if not self._frozen and len(threads_of(server.pid)) != known.looked_at:
            known.serving(read_threads(self.address))
            known.looked_at = len(threads_of(server.pid))
        return known.use()

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
        return WritingOut(self._in(database))

    def fill_pool(self, database: str) -> PoolFill:
        """Read tables and indexes into the buffer pool, as far as they fit."""
        return fill_pool(self._in(database))

    def _in(self, database: str) -> Endpoint:
        return replace(self.address, database=database)

    def _required(self) -> Server:
        if self._server is None:
            raise EngineError(f'server "{self._directory}" is not running')
        if not self._server.running:
            raise ServerError(
                f"{self._server.name} died: status {self._server.process.returncode}",
                detail=self.last_words() or None,
            )
        return self._server

    def _require_stopped(self, action: str) -> None:
        pid = self._server.pid if self.running and self._server else serving_pid(self._directory)
        if pid is not None:
            raise EngineError(
                f'could not {action} server "{self._directory}": it is running',
                detail=f"Its process is {pid}.",
            )


def _socket(slot: Slot) -> Path:
    path = slot.socket_directory / f"m{slot.port}"
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
        raise EngineError(
            f'socket path "{path}" is too long: {len(os.fsencode(path))} bytes',
            detail=f"A Unix socket's path has at most {SOCKET_PATH_LIMIT} bytes.",
            hint="Choose a shorter directory for the sockets, such as one under /tmp.",
        )
    return path


def _temporary(slot: Slot) -> Path:
    return slot.path / "tmp"


def _prepare_slot(slot: Slot, account: Account) -> Path:
    """Make the slot's directories; the path of its log, which every life appends to."""
    slot.path.mkdir(parents=True, exist_ok=True)
    if account.switched:
        slot.path.chmod(slot.path.stat().st_mode & 0o777 | 0o011)  # to its data directory
    account.make_directory(slot.socket_directory)
    account.make_directory(_temporary(slot))
    return slot.path / "server.log"
