"""A PostgreSQL cluster on disk, running or not: everything a weighing does with an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.capabilities.external import POOLED, TCP, TLS, PoolerPlan
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.loading import DATABASE
from steelyard.engines.local.cloning import Manifest
from steelyard.engines.local.own_server import OwnServer, prepare_slot, require_short
from steelyard.engines.memory.group import MemoryGroup
from steelyard.engines.postgres import loopback, process_tree
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.libpq.connection_string import OwnAddress, conninfo_of
from steelyard.engines.postgres.life.configuration_text import (
    AUTOMATIC,
    enough_log,
    log_limits,
    write_configuration,
)
from steelyard.engines.postgres.life.control import CONTROL_FILE, unreadable_control, verifies
from steelyard.engines.postgres.life.data_directory import SUPERUSER, move_log
from steelyard.engines.postgres.life.server import Server, serving_pid
from steelyard.engines.postgres.pooler import Pooler
from steelyard.engines.postgres.process_tree import Suspension, TreeAccount
from steelyard.engines.postgres.settings import refuse_slot_settings
from steelyard.engines.postgres.sql.buffer_pool import fill_pool
from steelyard.engines.postgres.sql.checkpoints import LogWatch, require_logged_checkpoints
from steelyard.engines.postgres.sql.counters import (
    KINDS,
    UNCOUNTED,
    archive_share,
    counts,
    log_segment,
    prepare_counting,
    read_statements,
    sample_counters,
)
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.engines.postgres.sql.plans import read_plans
from steelyard.engines.postgres.sql.session import Checkpoints, read_settings
from steelyard.engines.postgres.sql.waits import ActivityProbe, WaitSampler
from steelyard.engines.programs import pin
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity
from steelyard.model.process import TreeUse
from steelyard.model.readings import Kind, Sample, StatementCounts
from steelyard.model.secrets.secret import Secret


class Cluster(OwnServer[Build, Server]):
    """A data directory and, between start and stop, its server.

    Implements every protocol of an instance in engines/engine.py, Capped and HoldsWorkload.
    """

    noun = "cluster"

    def __init__(
        self,
        build: Build,
        identity: Identity,
        account: Account,
        directory: Path,
        manifest: Manifest | None = None,
    ) -> None:
        super().__init__(build, identity, account, directory, manifest)
        self._accounting: TreeAccount | None = None
        self._frozen: list[int] = []
        self._suspended: Suspension | None = None
        self._counts_statements = False
        self._pooler: Pooler | None = None
        self._password: Secret | None = None  # of this life, for those that come by TCP

    @property
    def address(self) -> Endpoint:
        """Where superuser `postgres` reaches database `postgres`; only after a start."""
        slot = self._placed()
        return OwnAddress(str(slot.socket_directory), slot.port, SUPERUSER, "postgres")

    def _prepare(self, slot: Slot, settings: Settings) -> list[str]:
        settings = enough_log(self._directory, settings)
        command_line = arguments(slot, {**dict(self._build.settings), **settings})
        self._counts_statements = counts(settings)
        prepare_slot(slot, self._account)
        self._remove_remains(slot)
        return command_line + loopback.loopback_arguments(
            slot, self._directory, settings, self._account
        )

    def configure(self, settings: Settings) -> None:
        """Write its postgresql.auto.conf: settings beneath those of a start. What belongs to the
        data alone stands in its postgresql.conf."""
        self._require_stopped("configure")
        with_limits = {**log_limits(self._directory), **enough_log(self._directory, settings)}
        write_configuration(self._account, self._directory / AUTOMATIC, with_limits)

    def _begin(
        self, slot: Slot, arguments: list[str], log: Path, group: MemoryGroup | None
    ) -> Server:
        name = f"PostgreSQL {self._identity.version} in slot {slot.number}"
        server = Server.launch(
            name, self._build, self._account, self._directory, log, arguments, group
        )
        self._accounting = TreeAccount(server.pid, self._account)
        self._frozen, self._suspended = [], None  # of another life, which was ended so
        return server

    def stop(self) -> None:
        """Stop with a clean shutdown checkpoint; nothing of it is left running. Of a server that
        died by itself only the remains are removed; `last_words` quotes it."""
        self._close_ways()
        super().stop()

    def crash(self) -> None:
        """Kill at once without a shutdown checkpoint, and leave nothing running."""
        server = self._required()
        self._server, self._frozen, self._suspended = None, [], None
        self._close_ways()
        server.kill()
        self._leave_group()
        self._remove_remains(self._placed())

    def discard(self) -> None:
        """Stop at once without a checkpoint; of a server that died by itself only the remains are
        removed. What is on disk then must be put back before it is used."""
        self._close_ways()
        with self._ending() as server:
            if server is not None:
                server.quit()
                self._remove_remains(self._placed())

    def _remove_remains(self, slot: Slot) -> None:
        """Remove the socket of a server that was killed; the slot is ours alone."""
        socket = slot.socket_directory / f".s.PGSQL.{slot.port}"
        self._account.remove((socket, socket.with_name(f"{socket.name}.lock")))

    def protect(self, level: str) -> None:
        """Switch checksums on or off by the control file alone; the pages must carry them.

        EngineError: of a version whose control file is not known.
        """
        self._require_stopped("change checksums of")
        from steelyard._core import set_checksum_version

        control = self._directory / CONTROL_FILE
        version = int(verifies(level))
        try:
            self._account.call(lambda: set_checksum_version(str(control), version))
        except ValueError as error:
            raise unreadable_control(self._directory, error) from error

    @property
    def log_directory(self) -> Path | None:
        """Where its write-ahead log was put, outside of the data directory."""
        return self._log_directory

    def move_log(self, directory: Path) -> None:
        """Put pg_wal into a directory of its own on any file system, and a link in its place."""
        self._require_stopped("move the log of")
        try:
            self._account.make_directory(directory)
            self._account.call(lambda: move_log(self._directory, directory))
        except OSError as error:
            raise EngineError(
                f'could not move the log of "{self._directory}" to "{directory}": {error.strerror}'
            ) from error
        self._log_directory = directory

    def settings(self) -> dict[str, str]:
        """Every setting by name with its current value and unit, e.g. `"16384 8kB"`, as the load's
        sessions have it: what its database sets itself counts more than a server's start."""
        self._required()
        return read_settings(self.address, DATABASE)

    def way_in(self, way: str, database: str, pooler: PoolerPlan | None = None) -> Endpoint:
        """Where clients connect by TCP, by TLS, or through a pooler that is started here."""
        self._required()
        address = replace(self.address, database=database)
        if way in (TCP, TLS) and self._password is None:
            self._password = loopback.set_password(self._conninfo(self.address.database), SUPERUSER)
        if way == POOLED or pooler is not None:
            password = self._password if way == TLS else None
            if self._pooler is None:
                self._pooler = Pooler.start(
                    pooler or PoolerPlan(), self._placed(), self.address, self._account, password
                )
            address = replace(self._pooler.address, database=database)
        if way not in (TCP, TLS) or self._password is None:
            return address
        return loopback.loopback_endpoint(address, database, self._password, encrypted=way == TLS)

    def _close_ways(self) -> None:
        pooler, self._pooler, self._password = self._pooler, None, None
        if pooler is not None:
            if pooler.process.poll() is None:
                process_tree.thaw_all(pooler.process.pid)
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
        self._frozen = sorted({*self._frozen, *process_tree.freeze(self._required().pid)})

    def thaw(self) -> None:
        """SIGCONT all that `freeze` stopped; safe to call twice."""
        frozen, self._frozen = self._frozen, []
        process_tree.thaw(frozen)
        self.resume()

    def suspend(self) -> None:
        """SIGSTOP every process, client backends and the postmaster too, and those of a pooler."""
        if self._suspended is None:
            pooler = None if self._pooler is None else self._pooler.process
            alive = () if pooler is None or pooler.poll() is not None else (pooler.pid,)
            self._suspended = Suspension.of(self._required().pid, *alive)

    def resume(self) -> int:
        """SIGCONT all that `suspend` stopped; ns of processor time that they used meanwhile."""
        suspended, self._suspended = self._suspended, None
        return 0 if suspended is None else suspended.end()

    def use(self) -> TreeUse:
        """Processor time and I/O of the whole process tree since its start (TreeAccount)."""
        self._required()
        assert self._accounting is not None  # set by every launch
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

    def log_segment(self) -> str:
        """The segment of its log that it writes now."""
        return log_segment(self._conninfo(self.address.database))

    def archive_share(self, first: str, last: str) -> float | None:
        """What gzip makes of a byte of whole segments between two."""
        return archive_share(self._account, self._directory, first, last)

    def wait_probe(self, database: str) -> ActivityProbe:
        """A session that sees what client backends wait for."""
        return ActivityProbe(self._conninfo(database))

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
        require_logged_checkpoints(read_settings(self.address))  # of the server, not of sessions
        conninfo, log = self._conninfo(database), self._required().log
        return LogWatch(conninfo, self._identity.version_number, log, now_ns)

    def fill_pool(self, database: str) -> PoolFill:
        """Read tables and indexes into shared buffers, as far as they fit."""
        return fill_pool(self._conninfo(database), self._identity.version_number)

    def _conninfo(self, database: str) -> str:
        address = conninfo_of(replace(self.address, database=database))
        return f"{address} options='{UNCOUNTED}'" if self._counts_statements else address

    def _serving_pid(self) -> int | None:
        try:
            return serving_pid(self._directory)
        except OSError as error:
            raise EngineError(f'could not read "{error.filename}": {error.strerror}') from error


_DEFAULTS = {
    "listen_addresses": "",
    "logging_collector": "off",
    "log_destination": "stderr",
    "lc_messages": "C",  # the words that errors quote
}


def arguments(slot: Slot, settings: Settings) -> list[str]:
    """The server's command line after -D; EngineError for a setting that the slot owns."""
    refuse_slot_settings(settings)
    require_short(slot.socket_directory / f".s.PGSQL.{slot.port}")
    slot_settings = {
        "port": str(slot.port),
        # A quoted list of one: the path may hold a comma or a space.
        "unix_socket_directories": '"' + str(slot.socket_directory).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
    }
    chosen = {
        **_DEFAULTS,
        **{name.lower(): value for name, value in settings.items()},
        **slot_settings,
    }
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
