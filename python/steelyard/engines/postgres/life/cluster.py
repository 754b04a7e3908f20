"""A PostgreSQL cluster on disk, running or not: everything a weighing does with an arm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from steelyard.engines.access.ways import POOLED, TCP, TLS
from steelyard.engines.account import Account
from steelyard.engines.engine import PoolFill, Settings, Slot
from steelyard.engines.local import cloning
from steelyard.engines.memory.cap import MemoryCap, MemoryUse
from steelyard.engines.memory.group import MemoryGroup, naming_oom_kills
from steelyard.engines.postgres.access import loopback
from steelyard.engines.postgres.access.pooler import Pooler
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.control import CONTROL_FILE, verifies
from steelyard.engines.postgres.life.data_directory import SUPERUSER
from steelyard.engines.postgres.life.server import Server, quoted, serving_pid
from steelyard.engines.postgres.processes import freeze as freezing
from steelyard.engines.postgres.processes.process_tree import TreeAccount
from steelyard.engines.postgres.settings import refuse_slot_settings
from steelyard.engines.postgres.sql.buffer_pool import fill_pool
from steelyard.engines.postgres.sql.checkpoints import LogWatch, require_seen
from steelyard.engines.postgres.sql.counters import KINDS, sample_counters
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.engines.postgres.sql.plans import read_plans
from steelyard.engines.postgres.sql.session import Checkpoints, read_settings
from steelyard.engines.postgres.sql.statements import (
    UNCOUNTED,
    counts,
    prepare_counting,
    read_statements,
)
from steelyard.engines.postgres.sql.waits import WaitProbe, WaitSampler
from steelyard.engines.programs import pin
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Identity
from steelyard.model.process import TreeUse
from steelyard.model.readings import Kind, Sample
from steelyard.model.statements import StatementCounts


class Cluster:
    """A data directory and, between start and stop, its server.

    Implements every protocol of an instance in engines/engine.py, Capped and HoldsWorkload.
    """

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
        self._server: Server | None = None
        self._last_log = ""  # of the life before
        self._slot: Slot | None = None
        self._group: MemoryGroup | None = None
        self._accounting: TreeAccount | None = None
        self._frozen: list[int] = []
        self._counts_statements = False
        self._pooler: Pooler | None = None
        self._password: str | None = None  # of this life, for those that come by TCP

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
        """The postmaster's process id; EngineError when the cluster is not running."""
        return self._required().pid

    @property
    def address(self) -> Endpoint:
        """Where superuser `postgres` reaches database `postgres`; only after a start."""
        if self._slot is None:
            raise EngineError(f'cluster "{self._directory}" has no address: it was never started')
        return Endpoint(str(self._slot.socket_directory), self._slot.port, SUPERUSER, "postgres")

    def start(self, slot: Slot, settings: Settings) -> None:
        """Start at the slot and wait until it accepts connections; ServerError quotes the log."""
        self.launch(slot, settings)
        self.await_ready()

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot; EngineError where it runs or cannot be launched."""
        self._require_stopped("start")
        given = arguments(slot, {**dict(self._build.settings), **settings})
        self._counts_statements = counts(settings)
        log = prepare_slot(slot, self._account)
        given += loopback.loopback_arguments(slot, self._directory, settings, self._account)
        cloning.require_reachable(self._account, self._directory)
        name = f"PostgreSQL {self._identity.version} in slot {slot.number}"
        self._slot = slot
        self._group = None if slot.memory is None else MemoryGroup.make(slot.memory, slot.path)
        try:
            self._server = Server.launch(
                name, self._build, self._account, self._directory, log, given, self._group
            )
        except BaseException:
            self._leave_group()
            raise
        self._accounting = TreeAccount(self._server.pid, self._account)

    def await_ready(self) -> None:
        """Wait until it accepts connections; ServerError quotes the log, nothing of it is left."""
        server = self._server
        if server is None:
            raise EngineError(f'cluster "{self._directory}" was not launched')
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
        """Stop with a clean shutdown checkpoint; nothing of it is left running. Of a server that
        died by itself only the remains are removed; `last_words` quotes it."""
        with self._ending() as server:
            if server is None:
                return
            with naming_oom_kills(self._group, f"could not stop {server.name}"):
                if server.running:
                    freezing.thaw_all(server.pid)
                    server.stop()
                else:
                    server.kill()

    @contextmanager
    def _ending(self) -> Iterator[Server | None]:
        """The server of this life, thawed, which ends within; None: there is none."""
        self._close_ways()
        self.thaw()
        server, self._server = self._server, None
        try:
            yield server
        finally:
            self._leave_group()
        if server is not None:
            self._last_log = server.words()

    def crash(self) -> None:
        """Kill at once without a shutdown checkpoint, and leave nothing running."""
        server = self._required()
        self._server, self._frozen = None, []
        self._close_ways()
        server.kill()
        self._leave_group()

    def discard(self) -> None:
        """Stop at once without a checkpoint; of a server that died by itself only the remains are
        removed. What is on disk then must be put back before it is used."""
        with self._ending() as server:
            if server is not None:
                server.quit()

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
        """The FATAL and PANIC lines of this life's (or the last one's) log, else its tail."""
        return quoted(self._server.words() if self._server is not None else self._last_log)

    def clone(self, directory: Path) -> Cluster:
        """Copy this stopped cluster to `directory` (reflink where possible, else copy)."""
        self._require_stopped("clone")
        manifest = cloning.clone(self._directory, directory, self._account)
        return Cluster(self._build, self._identity, self._account, directory, manifest)

    def adopted(self, build: Build, identity: Identity) -> Cluster:
        """This stopped cluster, to be started by another build of the same layout."""
        self._require_stopped("hand over")
        return Cluster(build, identity, self._account, self._directory, self._manifest)

    def restore(self, template: Path) -> int:
        """Make this stopped clone byte-identical to its template again; bytes that were copied."""
        self._require_stopped("restore")
        copied, self._manifest = cloning.restore(
            template, self._directory, self._account, self._manifest
        )
        return copied

    def move(self, directory: Path) -> None:
        """Rename this stopped cluster's directory, within one file system."""
        self._require_stopped("move")
        directory.parent.mkdir(parents=True, exist_ok=True)
        self._directory.rename(directory)
        self._directory = directory

    def protect(self, level: str) -> None:
        """Switch checksums on or off by the control file alone; the pages must carry them."""
        self._require_stopped("change checksums of")
        from steelyard._core import set_checksum_version

        control = self._directory / CONTROL_FILE
        set_checksum_version(str(control), int(verifies(level)))
        self._account.own(control)

    def settings(self) -> dict[str, str]:
        """Every setting by name with its current value and unit, e.g. `"16384 8kB"`."""
        self._required()
        return read_settings(self.address)

    def way_in(self, way: str, database: str) -> Endpoint:
        """Where clients connect by TCP, by TLS, or through a PgBouncer that is started here."""
        self._required()
        address = replace(self.address, database=database)
        if way == POOLED:
            if self._pooler is None:
                assert self._slot is not None  # it is running
                self._pooler = Pooler.start(self._slot, self.address, self._account)
            return replace(self._pooler.address, database=database)
        if way not in (TCP, TLS):
            return address
        if self._password is None:
            self._password = loopback.set_password(self._conninfo(self.address.database), SUPERUSER)
        return loopback.loopback_endpoint(address, database, self._password, encrypted=way == TLS)

    def _close_ways(self) -> None:
        pooler, self._pooler, self._password = self._pooler, None, None
        if pooler is not None:
            pooler.stop()

    def workload_database(self) -> PostgresDatabase:
        """Database "steelyard", which workloads are loaded into."""
        return PostgresDatabase(self.address)

    def place(self, processors: Mapping[int, Sequence[int]]) -> None:
        """Pin each process id to its processors, by a child with the server's own user id."""
        self._required()
        pin(self._account, processors)

    def freeze(self) -> None:
        """SIGSTOP every process but the postmaster and client backends."""
        self._frozen = sorted({*self._frozen, *freezing.freeze(self._required().pid)})

    def thaw(self) -> None:
        """SIGCONT all that `freeze` stopped; safe to call twice."""
        frozen, self._frozen = self._frozen, []
        freezing.thaw(frozen)

    def use(self) -> TreeUse:
        """Processor time and I/O of the whole process tree since its start (TreeAccount)."""
        self._required()
        assert self._accounting is not None  # set wherever _server is
        return self._accounting.use()

    @property
    def counter_kinds(self) -> Sequence[Kind]:
        """What its statistics views count."""
        return KINDS

    def counters(self, database: str) -> Sample:
        """The cumulative counters, once all client backends have flushed theirs and gone."""
        self._close_ways()  # a pooler keeps its backends
        return sample_counters(self._conninfo(database), self._identity.version_number)

    def prepare_statement_counts(self) -> None:
        """Create pg_stat_statements in the administrative database, so that the data stays."""
        prepare_counting(self._conninfo(self.address.database))

    def statement_counts(self, database: str) -> StatementCounts:
        """What the load's statements in a database did so far."""
        conninfo = self._conninfo(self.address.database)
        return read_statements(conninfo, self._identity.version_number, database)

    def wait_probe(self, database: str) -> WaitProbe:
        """A session that sees what client backends wait for."""
        return WaitProbe(self._conninfo(database))

    def watch_waits(self, database: str) -> WaitSampler:
        """Begin to sample what client backends wait for."""
        return WaitSampler(self._conninfo(database))

    def plans(self, database: str, scripts: Mapping[str, str]) -> dict[str, str]:
        """The generic plan of every statement in the scripts (name → text)."""
        return read_plans(self._conninfo(database), scripts)

    def checkpointer(self, database: str) -> Checkpoints:
        """A connection for checkpoints."""
        return Checkpoints(self._conninfo(database))

    def watch_checkpoints(self, database: str, now_ns: Callable[[], int]) -> LogWatch:
        """Begin to watch its checkpoints; EngineError where its settings hide them."""
        require_seen(self.settings())
        conninfo, log = self._conninfo(database), self._required().log
        return LogWatch(conninfo, self._identity.version_number, log, now_ns)

    def fill_pool(self, database: str) -> PoolFill:
        """Read tables and indexes into shared buffers, as far as they fit."""
        return fill_pool(self._conninfo(database), self._identity.version_number)

    def _conninfo(self, database: str) -> str:
        address = conninfo_of(replace(self.address, database=database))
        return f"{address} options='{UNCOUNTED}'" if self._counts_statements else address

    def _required(self) -> Server:
        if self._server is None:
            raise EngineError(f'cluster "{self._directory}" is not running')
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
                f'could not {action} cluster "{self._directory}": it is running',
                detail=f"Its server is process {pid}.",
            )


SOCKET_PATH_LIMIT = 107  # sun_path of struct sockaddr_un holds 108 bytes with the final zero

_DEFAULTS = {
    "listen_addresses": "",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",  # the words that errors quote
}


def arguments(slot: Slot, settings: Settings) -> list[str]:
    """The server's command line after -D; EngineError for a setting that the slot owns."""
    refuse_slot_settings(settings)
    socket = slot.socket_directory / f".s.PGSQL.{slot.port}"
    if len(str(socket).encode()) > SOCKET_PATH_LIMIT:
        raise EngineError(
            f'socket path "{socket}" is too long: {len(str(socket).encode())} bytes',
            detail=f"A Unix socket's path has at most {SOCKET_PATH_LIMIT} bytes.",
            hint="Choose a shorter directory for the sockets, such as one under /tmp.",
        )
    place = {
        "port": str(slot.port),
        # A quoted list of one: the path may hold a comma or a space.
        "unix_socket_directories": '"' + str(slot.socket_directory).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
    }
    chosen = {**_DEFAULTS, **{name.lower(): value for name, value in settings.items()}, **place}
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]


def prepare_slot(slot: Slot, account: Account) -> Path:
    """Make the slot's directories; the path of its log, which every life appends to."""
    slot.path.mkdir(parents=True, exist_ok=True)
    if account.switched:
        slot.path.chmod(slot.path.stat().st_mode & 0o777 | 0o011)  # to its data directory
    account.make_directory(slot.socket_directory)
    socket = f".s.PGSQL.{slot.port}"
    for remains in (socket, f"{socket}.lock"):  # a killed server's; the slot is ours alone
        (slot.socket_directory / remains).unlink(missing_ok=True)
    return slot.path / "server.log"
