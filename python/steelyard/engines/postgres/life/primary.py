"""A cluster that standbys may follow: they start, stand still, are counted and end with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.capabilities.life import Lag, Standbys
from steelyard.engines.defer_signals import defer_signals
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.libpq.connection_string import OwnAddress
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.server import quoted, reason
from steelyard.engines.postgres.loopback import access_arguments
from steelyard.engines.postgres.sql.waits import ActivityProbe, WaitSampler
from steelyard.engines.postgres.standby_group import StandbyGroup, standby_names
from steelyard.engines.programs import run
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.process import TreeUse
from steelyard.model.readings import Sample, StatementCounts

_NOT_ALONE = frozenset({"synchronous_standby_names", "listen_addresses", "ssl", "archive_mode"})
"""Settings without which the files are opened by one process."""


class Primary(Cluster):
    """A Cluster, and the standbys that it is given. Implements Replicable too."""

    _wanted: Standbys | None = None
    _standbys: StandbyGroup | None = None

    def replicate(self, standbys: Standbys | None) -> None:
        """Have so many standbys from the next start on; None: none."""
        self._require_stopped("give standbys to")
        self._wanted = standbys

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot, its standbys' files copied before."""
        self._require_stopped("start")
        if self._wanted is not None:
            self._ship_log(settings)
            self._standbys = StandbyGroup.copied(
                self._wanted, slot, settings, self._account, self.clone
            )
        super().launch(slot, settings)

    def await_ready(self) -> None:
        """Wait until it accepts connections and its standbys follow it; nothing of them is left
        where one could not."""
        try:
            super().await_ready()
            if self._standbys is not None:
                self._standbys.attach(cast(OwnAddress, self.address))
        except BaseException:
            with defer_signals():
                self._end_standbys()
                if self._server is not None:
                    self.crash()
            raise

    @property
    def running(self) -> bool:
        """Whether it runs, and every standby of it."""
        standbys = self._standbys
        return super().running and (standbys is None or not standbys.attached or standbys.running)

    def standby_names(self) -> Sequence[str]:
        """What the standbys of this life are called."""
        return () if self._standbys is None else standby_names(self._standbys.requested.count)

    def require_standbys(self) -> None:
        """ServerError: one has died."""
        if self._standbys is not None:
            self._standbys.require_running()

    def require_streaming(self) -> None:
        """ServerError: one has died, or does not follow any more."""
        if self._standbys is not None:
            self._standbys.require_streaming()

    def lag(self) -> Lag:
        """When it was last suspended or frozen in this life, else now."""
        if self._standbys is None:
            raise EngineError(f'cluster "{self._directory}" has no standby')
        return self._standbys.lag()

    def load_address(self) -> Endpoint:
        """The administrative database of the server that the load's sessions go to."""
        return self._reader.address

    def begin_stop(self) -> None:
        """Begin a clean shutdown; its standbys end before it."""
        self._part()
        super().begin_stop()

    def stop(self) -> None:
        """Stop with a clean shutdown checkpoint; nothing of it and of its standbys is left."""
        self._part()
        super().stop()

    def crash(self) -> None:
        """Kill it and its standbys at once."""
        self._end_standbys()
        super().crash()

    def discard(self) -> None:
        """Stop it and its standbys at once without a checkpoint."""
        self._end_standbys()
        super().discard()

    def freeze(self) -> None:
        """SIGSTOP its background processes, and every process of its standbys."""
        if self._standbys is not None:
            self._standbys.note_lag()
            self._standbys.suspend()
        super().freeze()

    def suspend(self) -> None:
        """SIGSTOP every process, those of its standbys too."""
        if self._standbys is not None and self._suspended is None:
            self._standbys.note_lag()
            self._standbys.suspend()
        super().suspend()

    def resume(self) -> int:
        """SIGCONT all that `suspend` stopped; ns of processor time that they used meanwhile."""
        standbys_ns = 0 if self._standbys is None else self._standbys.resume()
        return standbys_ns + super().resume()

    def use(self) -> TreeUse:
        """Processor time and I/O of its process tree and of its standbys'."""
        every = [super().use(), *(() if self._standbys is None else self._standbys.use())]
        return TreeUse(
            cpu_ns=sum(tree.cpu_ns for tree in every),
            read_bytes=sum(tree.read_bytes for tree in every),
            written_bytes=sum(tree.written_bytes for tree in every),
            requested_bytes=sum(tree.requested_bytes for tree in every),
            mapped_pages=sum(tree.mapped_pages for tree in every),
            processes=tuple(process for tree in every for process in tree.processes),
            transfers_known=all(tree.transfers_known for tree in every),
            session_pids=frozenset(pid for tree in every for pid in tree.session_pids),
        )

    def counters(self, database: str) -> Sample:
        """The cumulative counters of the server that the load's sessions go to."""
        if self._standbys is not None:
            self._standbys.close_sessions()
        return Cluster.counters(self._reader, database)

    def statement_counts(self, database: str) -> StatementCounts:
        """What the load's statements in a database did so far, where they go."""
        return Cluster.statement_counts(self._reader, database)

    def wait_probe(self, database: str) -> ActivityProbe:
        """A session that sees what the load's sessions wait for."""
        return Cluster.wait_probe(self._reader, database)

    def watch_waits(self, database: str) -> WaitSampler:
        """Begin to sample what the load's sessions wait for."""
        return Cluster.watch_waits(self._reader, database)

    def fill_pool(self, database: str) -> PoolFill:
        """Read tables and indexes into the shared buffers that the load's sessions use."""
        return Cluster.fill_pool(self._reader, database)

    @property
    def _reader(self) -> Cluster:
        if self._standbys is None or not self._standbys.requested.reads:
            return self
        return cast(Cluster, self._standbys.reader)

    def _prepare(self, slot: Slot, settings: Mapping[str, str]) -> list[str]:
        command_line = super()._prepare(slot, settings)
        # Data from elsewhere may not let standbys in; of two arguments the last one counts.
        return command_line if self._standbys is None else command_line + access_arguments(slot)

    def _ship_log(self, settings: Settings) -> None:
        """Have the stopped files say that log for standbys is written from now on: a template was
        loaded with less, and a copy of it would refuse to follow. ServerError: it could not."""
        effective = {**dict(self._build.settings), "wal_level": "replica", **settings}
        effective = {
            name: value for name, value in effective.items() if name.lower() not in _NOT_ALONE
        }
        arguments = [
            word for name, value in effective.items() for word in ("-c", f"{name}={value}")
        ]
        program = [self._build.program("postgres"), "--single", "-D", str(self._directory)]
        status, output = run(
            self._account,
            [*program, *arguments, "postgres"],
            directory=self._directory,
            environment=self._build.environment,
            stdin="",
        )
        if status != 0:
            why = reason(output) or f"it ended with status {status}"
            raise ServerError(f"could not have standbys: {why}", detail=quoted(output) or None)

    def _part(self) -> None:
        """End the standbys, and what the files would keep for them."""
        standbys, self._standbys = self._standbys, None
        if standbys is None:
            return
        self.thaw()
        standbys.end()
        if super().running and standbys.attached:
            with suppress(EngineError):  # one that dies now says so when it is stopped
                standbys.drop_slots()

    def _end_standbys(self) -> None:
        standbys, self._standbys = self._standbys, None
        if standbys is not None:
            standbys.end()
