"""PostgreSQL as an engine: one build, run under one account.

What a build assumes and accepts is read from a cluster that is made for that and removed.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.checkpoints import Cycle, Scaled
from steelyard.engines.capabilities.external import PoolerPlan
from steelyard.engines.capabilities.memory import MemoryNeed
from steelyard.engines.engine import Instance, MissingFeature, Settings, Slot
from steelyard.engines.intake import ImportedCluster, Intake, Report, ServerSettings
from steelyard.engines.local.owned_files import text_below
from steelyard.engines.local.processes import ending_strays
from steelyard.engines.postgres.abilities import missing
from steelyard.engines.postgres.builds.build import Build, major_of
from steelyard.engines.postgres.intake.accepting import accepted_settings, known_settings
from steelyard.engines.postgres.intake.import_cluster import take_in_cluster, take_in_dump
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import (
    CHECKSUMS,
    PROTECTIONS,
    read_layout,
    stopped_identifier,
    verifies,
)
from steelyard.engines.postgres.life.data_directory import make_cluster
from steelyard.engines.postgres.life.primary import Primary
from steelyard.engines.postgres.life.server import serving_pid
from steelyard.engines.postgres.loopback import listening
from steelyard.engines.postgres.mistyped import validate_settings
from steelyard.engines.postgres.pooler import KEEPS_STATEMENTS, version_of
from steelyard.engines.postgres.settings import BULK_SETTINGS, SETTING_RULES, memory_need
from steelyard.engines.postgres.sql.checkpoints import (
    CHECKPOINT_LOG_SETTINGS,
    cycle_of,
    log_limit,
    scaled,
)
from steelyard.engines.postgres.sql.counters import counting
from steelyard.engines.postgres.sql.own_time import in_own_time
from steelyard.engines.postgres.sql.session import read_allowed, read_defaults
from steelyard.engines.postgres.standby_group import replication_settings
from steelyard.model.errors import EngineError
from steelyard.model.identity import BuildDefaults, Default, Identity
from steelyard.model.setting_value import Allowed

LOAD_SETTINGS: Mapping[str, str] = {
    **BULK_SETTINGS,
    # Rows arrive in the order of their keys: workers made the keys no faster, on 28 % more CPU.
    "max_parallel_maintenance_workers": "0",
}
"""Of the server that a template is loaded with."""

Create = Callable[..., Cluster]
"""Makes a cluster: (directory, protection=...)."""
_PRESETS = (
    "block_size",
    "segment_size",
    "wal_block_size",
    "max_identifier_length",
    "max_index_keys",
)
"""What a server compares with the control file before it starts, as far as settings show it
(ReadControlFile, src/backend/access/transam/xlog.c)."""


class Postgres:
    """A build of PostgreSQL that the account can run.

    Implements TemplateEngine, LoadableEngine, SettingsCheck, Abilities, ComparableBuild,
    NeedsMemory, StoresValues, TakesIn and AcceptsSettings.
    """

    protections = PROTECTIONS
    setting_rules = SETTING_RULES

    def __init__(
        self,
        build: Build,
        identity: Identity,
        account: Account,
        stored_by: Settings | None = None,
    ) -> None:
        self._build = build
        self._identity = identity
        self._account = account
        self._stored_by = dict(stored_by or {})

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def build(self) -> Build:
        """Its programs."""
        return self._build

    @property
    def account(self) -> Account:
        """The account that its servers run under."""
        return self._account

    def validate(self, settings: Settings) -> None:
        """UsageError for an unknown setting, ServerError for a value this build does not take."""
        name = f"PostgreSQL {self._identity.version}"
        validate_settings(name, self._build, self._account, settings)

    def missing(self, need: str) -> MissingFeature | None:
        """What it was built without, and where a build is found that has it."""
        return missing(self._build, self._identity, self._account, need)

    def memory_need(self, settings: Settings) -> MemoryNeed:
        """Its shared buffers, and whether they may stand in huge pages."""
        return memory_need(self._build, self._account, settings)

    def create(self, directory: Path, *, protection: str) -> Cluster:
        """Make a new cluster in `directory`: locale C, UTF8, superuser `postgres`, trust."""
        directory = directory.absolute()
        checksums = verifies(protection)
        make_cluster(self._build, self._identity, self._account, directory, checksums=checksums)
        return Primary(self._build, self._identity, self._account, directory)

    @property
    def load_settings(self) -> Settings:
        """Of a server that is loaded and then stopped."""
        return {**LOAD_SETTINGS, **self._stored_by}

    def storing(self, settings: Settings) -> Postgres:
        """The same build, whose loaded servers store values and gather statistics by these."""
        return Postgres(self._build, self._identity, self._account, settings)

    def catalogue_edition(self) -> list[int]:
        """Distinguishes builds of a version that is still in development, and how values are
        stored and statistics gathered."""
        text = json.dumps(self._stored_by, sort_keys=True).encode()
        stored = [zlib.crc32(text)] if self._stored_by else []
        return [*catalogue_edition(self._identity), *stored]

    def stopped_identifier(self, directory: Path) -> int | None:
        """The identifier of a cluster that was stopped cleanly with checksums on; else None."""
        return stopped_identifier(directory)

    def take_in(self, intake: Intake, slot: Slot, report: Report) -> ImportedCluster:
        """A copy of an external data directory, backup or dump, stopped, in the slot's "data"; of
        the programs that it brought or started none runs afterwards."""
        build, account = self._build, self._account
        with ending_strays(slot.path, account):
            if intake.place.kind == "dump":
                loaded = {**BULK_SETTINGS, **self._stored_by}
                return take_in_dump(build, account, self.create, intake, slot, report, loaded)
            return take_in_cluster(build, self._identity, account, intake, slot, report)

    def known(self, offered: ServerSettings) -> ServerSettings:
        """Of foreign settings those that its programs accept: no server is started."""
        return known_settings(self._build, self._account, offered)

    def accepted(self, offered: ServerSettings, slot: Slot, report: Report) -> ServerSettings:
        """Of the settings of another server those that this build and machine accept."""
        report("try the settings of the data's server")
        return accepted_settings(self._build, self._account, self.create, slot, offered)

    def build_defaults(self, slot: Slot) -> BuildDefaults:
        """Its layout and defaults, read from a cluster that is made at a free slot and removed."""
        return examine(self.create, slot)

    def allowed_settings(self, slot: Slot) -> dict[str, Allowed]:
        """What it accepts for every setting, read from a cluster that is made at a free slot."""
        return examine_allowed(self.create, slot)

    @property
    def log_checkpoints(self) -> Settings:
        """With which the log reports checkpoints; on by default only from 15 on."""
        return {"log_checkpoints": CHECKPOINT_LOG_SETTINGS["log_checkpoints"][0]}

    def cycle(self, settings: Settings) -> Cycle:
        """How far apart checkpoints are by settings as a server reports them."""
        return cycle_of(settings)

    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """checkpoint_timeout and the limits of the log, divided by a factor."""
        return scaled(settings, factor)

    def in_own_time(self, settings: Settings, factor: float, arms: int) -> Scaled:
        """The same where its servers stand still while other arms work, with its timers."""
        return in_own_time(settings, factor, arms)

    def log_limit(self, settings: Settings, wal_bytes: float) -> Settings:
        """max_wal_size, with which size requests no checkpoint before so much log."""
        return log_limit(settings, wal_bytes)

    def require_pooler(self, plan: PoolerPlan, mode: str) -> None:
        """EngineError: it is not there, or is too old for prepared statements."""
        version = version_of(plan, self._account)
        if plan.name == "pgbouncer" and mode == "prepared" and version < KEEPS_STATEMENTS:
            raise EngineError(
                f"PgBouncer {'.'.join(map(str, version))} keeps no prepared statements: 1.21 is "
                "the first that does",
                hint="Drive without them: --set workload.mode=extended; or give a newer one by its "
                "path: pooler.program.",
            )

    def replication(self, standbys: int, quorum: int) -> dict[str, str]:
        """What makes its commits wait for standbys, and keeps the log that they lack."""
        return replication_settings(standbys, quorum)

    def listening(self, *, encrypted: bool) -> dict[str, str]:
        """What makes its servers listen on loopback."""
        return listening(encrypted=encrypted)

    def statement_counting(self, settings: Settings) -> dict[str, str]:
        """What loads pg_stat_statements beside an arm's own modules."""
        return counting(settings)

    def log_timing(self, settings: Settings) -> dict[str, str]:
        """Two looks at the clock for each write and each sync of the log."""
        names = {name.lower() for name in settings}
        return {} if "track_wal_io_timing" in names else {"track_wal_io_timing": "on"}

    def adopt(self, instance: Instance) -> Cluster:
        """The same stopped cluster, to be started by this build; its layout must be alike."""
        if not isinstance(instance, Cluster):
            raise EngineError(f'PostgreSQL cannot open a cluster of "{instance.identity.kind}"')
        return instance.adopted(self._build, self._identity)

    def open(self, directory: Path) -> Cluster:
        """The stopped cluster that stands in `directory`, of this major version."""
        directory = directory.absolute()
        try:
            major = text_below(directory, "PG_VERSION").strip()
        except OSError as error:
            raise EngineError(
                f'could not open cluster "{directory}": {error.strerror}',
                detail='A PostgreSQL data directory has a file "PG_VERSION".',
            ) from error
        if major != major_of(self._identity):
            raise EngineError(
                f'cannot open cluster "{directory}" with PostgreSQL {self._identity.version}: '
                f"it was made by version {major}"
            )
        pid = serving_pid(directory)
        if pid is not None:
            raise EngineError(
                f'could not open cluster "{directory}": it is running',
                detail=f"Its server is process {pid}.",
            )
        return Primary(self._build, self._identity, self._account, directory)


def catalogue_edition(identity: Identity) -> list[int]:
    """Of a version that is still being written, each build may have a catalogue of its own."""
    server = Path(identity.bindir) / "postgres"
    if re.fullmatch(r"[0-9.]+", identity.version) or not server.is_file():
        return []
    status = server.stat()
    return [status.st_size, status.st_mtime_ns]


def examine(create: Create, slot: Slot) -> BuildDefaults:
    """Make a cluster at the slot, start it, read, and remove it; takes one to two seconds.

    ServerError quotes a server that would not be made or started.
    """
    with _examined(create, slot) as cluster:
        defaults = read_defaults(cluster.address)
        cluster.stop()
        return BuildDefaults({**read_layout(cluster.directory), **_compiled(defaults)}, defaults)


def examine_allowed(create: Create, slot: Slot) -> dict[str, Allowed]:
    """What the build accepts for every setting, read from a cluster as `examine` makes one."""
    with _examined(create, slot) as cluster:
        return read_allowed(cluster.address)


@contextmanager
def _examined(create: Create, slot: Slot) -> Iterator[Cluster]:
    """A cluster of defaults that runs at the slot, and is removed."""
    directory = slot.path / "examined"
    cluster = create(directory, protection=CHECKSUMS)
    try:
        cluster.start(slot, {})
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _compiled(defaults: dict[str, Default]) -> dict[str, int]:
    return {name: int(defaults[name].value or 0) for name in _PRESETS if name in defaults}
