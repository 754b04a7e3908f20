"""The standbys of a primary: copies of its stopped files, which follow its log from its start on.

Each has a slot of the primary, so that no log that it lacks is removed, up to KEPT_LOG. They reach
it by its Unix socket, or through a process that adds a round trip, and are named standby1,
standby2: what synchronous_standby_names lists. Source: high-availability.sgml.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from steelyard.engines.account import Account
from steelyard.engines.capabilities.life import Lag, Standbys
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.local.own_server import prepare_slot, require_short
from steelyard.engines.postgres.libpq.connection_string import OwnAddress, conninfo_of
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.process import TreeUse
from steelyard.model.units import NS_PER_S

if TYPE_CHECKING:
    import psycopg

KEPT_LOG = "4GB"
"""What a slot keeps for a standby that is behind; then it is lost, and the arm with it."""
SIGNAL = "standby.signal"
_PORTS_FROM = 30_000
"""Of standbys and delays, ten for each slot of the weighing; they name sockets only."""
_PATIENCE_S, _POLL_S = 60.0, 0.01
_REPLY_S = 6.0
"""Until a standby that streams has replied, and counts."""
_OWN = frozenset({"synchronous_standby_names", "listen_addresses", "ssl"})
"""Settings of the primary that its standbys do not have."""
_QUORUM = re.compile(r"\s*(?:any|first)?\s*(\d+)\s*\(", re.IGNORECASE)


def standby_names(count: int) -> tuple[str, ...]:
    """What so many standbys are called."""
    return tuple(f"standby{number}" for number in range(1, count + 1))


def replication_settings(standbys: int, quorum: int) -> dict[str, str]:
    """What a primary is set beneath the settings of its arm."""
    waited = f"ANY {quorum} ({', '.join(standby_names(standbys))})" if quorum else ""
    return {"synchronous_standby_names": waited, "max_slot_wal_keep_size": KEPT_LOG}


class StandbyServer(Protocol):
    """What the group uses of a server."""

    @property
    def running(self) -> bool: ...
    @property
    def address(self) -> Endpoint: ...
    def launch(self, slot: Slot, settings: Settings) -> None: ...
    def await_ready(self) -> None: ...
    def discard(self) -> None: ...
    def suspend(self) -> None: ...
    def resume(self) -> int: ...
    def use(self) -> TreeUse: ...
    def last_words(self) -> str: ...


@dataclass
class _Standby:
    name: str
    slot: Slot
    server: StandbyServer
    delay: Delay | None = None


@dataclass
class StandbyGroup:
    """The standbys of one life of a primary."""

    requested: Standbys
    settings: Mapping[str, str]
    account: Account
    members: list[_Standby] = field(default_factory=list)
    _sessions: dict[str, psycopg.Connection[Any]] = field(default_factory=dict)
    _noted_lag: Lag | None = None
    _primary: OwnAddress | None = None

    @classmethod
    def copied(
        cls,
        requested: Standbys,
        primary: Slot,
        settings: Settings,
        account: Account,
        clone: Callable[[Path], StandbyServer],
    ) -> StandbyGroup:
        """Copies of the stopped primary, made by `clone`; none is started. EngineError: no room."""
        group = cls(requested, dict(settings), account)
        for number, name in enumerate(standby_names(requested.count), 1):
            port = _PORTS_FROM + 10 * primary.number + number
            slot = replace(primary, path=primary.path / name, port=port)
            prepare_slot(slot, account)
            data = slot.path / "data"
            shutil.rmtree(data, ignore_errors=True)  # of an earlier life, long ended
            server = clone(data)
            account.call((data / SIGNAL).touch)
            group.members.append(_Standby(name, slot, server))
        return group

    @property
    def running(self) -> bool:
        """Whether all of them run."""
        return all(member.server.running for member in self.members)

    @property
    def attached(self) -> bool:
        """Whether they were started."""
        return self._primary is not None

    @property
    def reader(self) -> StandbyServer:
        """The one that the load's sessions go to where they go to a standby."""
        return self.members[0].server

    def attach(self, primary: OwnAddress) -> None:
        """Start them, and wait until each follows its primary, and commits can be confirmed.
        EngineError: one did not start, or not enough are named."""
        self._primary = primary
        self._make_slots(primary)
        for member in self.members:
            source = primary
            if self.requested.round_trip_ns:
                port, delay_ns = member.slot.port + 5, self.requested.round_trip_ns
                member.delay = Delay.start(primary, port, delay_ns, self.account, member.slot.path)
                source = replace(primary, port=port)
            member.server.launch(member.slot, self._settings_of(member.name, source))
        for member in self.members:
            try:
                member.server.await_ready()
            except ServerError as failure:
                failure.primary = f"{member.name}: {failure.primary}"
                raise
        self._await_streaming()
        self._require_confirmed()

    def end(self) -> None:
        """End them at once, whatever happens to one; safe to call twice."""
        with ExitStack() as every:
            for session in self._sessions.values():
                every.callback(session.close)
            self._sessions = {}
            for member in self.members:
                if member.delay is not None:
                    every.callback(member.delay.stop)
                    member.delay = None
                every.callback(member.server.discard)

    def drop_slots(self) -> None:
        """Drop the primary's slots, once the standbys have ended: its files may go on elsewhere."""
        assert self._primary is not None
        deadline = time.monotonic() + _PATIENCE_S
        with connect(conninfo_of(self._primary)) as session:
            while rows := session.execute(
                "SELECT slot_name, active_pid FROM pg_replication_slots WHERE slot_name = ANY(%s)",
                [list(standby_names(self.requested.count))],
            ).fetchall():
                for name, pid in rows:
                    if pid is None:
                        session.execute("SELECT pg_drop_replication_slot(%s)", [name])
                if time.monotonic() > deadline:
                    raise ServerError(f'could not drop replication slot "{rows[0][0]}"')
                time.sleep(_POLL_S)

    def suspend(self) -> None:
        """Hold every process of them still; their lag must have been noted before. ServerError: one
        has died."""
        self.require_running()
        for member in self.members:
            member.server.suspend()

    def resume(self) -> int:
        """Resume them; ns of processor time that they used meanwhile."""
        return sum(member.server.resume() for member in self.members)

    def note_lag(self) -> None:
        """Read it now, before the primary stands still: it is what `lag` gives from now on.
        ServerError: a standby has died."""
        self.require_running()
        self._noted_lag = self._lag_now()

    def use(self) -> list[TreeUse]:
        """What the processes of each used so far. ServerError: one has died."""
        self.require_running()
        return [member.server.use() for member in self.members]

    def lag(self) -> Lag:
        """As it was noted last, else as it is now. EngineError: it is not known."""
        return self._noted_lag or self._lag_now()

    def require_running(self) -> None:
        """ServerError: one has died."""
        for member in self.members:
            if not member.server.running:
                raise ServerError(f"{member.name} died", detail=member.server.last_words() or None)

    def require_streaming(self) -> None:
        """ServerError: one has died, or does not follow its primary any more."""
        self.require_running()
        behind = self._not_streaming()
        for member in self.members:
            if member.name in behind:
                raise ServerError(
                    f"{member.name} does not follow its primary any more",
                    detail=member.server.last_words() or None,
                    hint=f"A standby that is more than {KEPT_LOG} behind is lost: see "
                    "max_slot_wal_keep_size.",
                )

    def close_sessions(self) -> None:
        """Before statistics are read, which wait for every session to end."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()

    def _settings_of(self, name: str, source: Endpoint) -> dict[str, str]:
        inherited = {key: value for key, value in self.settings.items() if key.lower() not in _OWN}
        return {
            **inherited,
            "hot_standby": "on",
            "cluster_name": name,
            "primary_slot_name": name,
            "primary_conninfo": f"{conninfo_of(source)} application_name={name}",
        }

    def _make_slots(self, primary: OwnAddress) -> None:
        import psycopg

        try:
            with connect(conninfo_of(primary)) as session:
                for member in self.members:
                    session.execute(
                        "SELECT pg_create_physical_replication_slot(%s, true) WHERE NOT EXISTS "
                        "(SELECT FROM pg_replication_slots WHERE slot_name = %s)",
                        [member.name, member.name],
                    )
        except psycopg.Error as refusal:
            raise ServerError(
                f"could not start standbys: {refusal.diag.message_primary or refusal}",
                hint=refusal.diag.message_hint,
            ) from refusal

    def _await_streaming(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while self._not_streaming():
            self.require_running()
            if time.monotonic() > deadline:
                self.require_streaming()
            time.sleep(_POLL_S)

    def _not_streaming(self) -> set[str]:
        rows = self._rows(
            "primary",
            "SELECT application_name FROM pg_stat_replication "
            "WHERE state IN ('streaming', 'catchup')",
        )
        return {member.name for member in self.members} - {name for (name,) in rows}

    def _require_confirmed(self) -> None:
        """EngineError where synchronous_standby_names waits for more than there are: every commit
        would wait for ever."""
        names = self.settings.get("synchronous_standby_names", "")
        if not names.strip():
            return
        match = _QUORUM.match(names)
        needed = int(match[1]) if match else 1
        # A priority list calls one more than it needs "potential": those that are named count.
        # One that has not replied yet is "async": a transaction has it reply.
        query = "SELECT count(*), txid_current() FROM pg_stat_replication "
        query += "WHERE sync_state <> 'async'"
        self._rows("primary", "SELECT set_config('synchronous_commit', 'local', false)")
        deadline = time.monotonic() + _REPLY_S
        while (count := int(self._rows("primary", query)[0][0])) < needed:
            if time.monotonic() > deadline:
                raise EngineError(
                    f"commits would wait for ever: synchronous_standby_names = '{names}' waits for "
                    f"{needed}, and names {count} of the arm's standbys",
                    hint=f"They are called {', '.join(member.name for member in self.members)}.",
                )
            time.sleep(_POLL_S)

    def _lag_now(self) -> Lag:
        """Of the standby that is furthest behind."""
        sent = int(self._rows("primary", "SELECT pg_current_wal_flush_lsn() - '0/0'")[0][0])
        lags = []
        for member in self.members:
            [(replayed, since_s)] = self._rows(
                member.name,
                "SELECT pg_last_wal_replay_lsn() - '0/0', extract(epoch FROM clock_timestamp() - "
                "coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))",
            )
            left = max(0, sent - int(replayed))
            lags.append(Lag(left, round(max(0, since_s) * NS_PER_S) if left else 0))
        return max(lags, key=lambda lag: lag.log_bytes)

    def _rows(self, name: str, query: str) -> list[tuple[Any, ...]]:
        """Of the primary, or of a standby by its name, on a session that stays open."""
        import psycopg

        try:
            if name not in self._sessions:
                assert self._primary is not None
                by_name = {member.name: member.server for member in self.members}
                address = self._primary if name == "primary" else by_name[name].address
                self._sessions[name] = connect(conninfo_of(address))
            return self._sessions[name].execute(query.encode()).fetchall()
        except psycopg.Error as failure:
            session = self._sessions.pop(name, None)
            if session is not None:
                with suppress(psycopg.Error):
                    session.close()
            raise ServerError(f"could not ask {name} how far it is: {failure}".strip()) from failure


_PROGRAM = "steelyard.engines.postgres.delay_process"


@dataclass
class Delay:
    """One life of the process."""

    process: subprocess.Popen[bytes]
    address: Endpoint
    """Where the standby connects in place of the primary."""
    account: Account

    @classmethod
    def start(
        cls, primary: OwnAddress, port: int, round_trip_ns: int, account: Account, directory: Path
    ) -> Self:
        """In front of a primary, on a socket beside its own; EngineError: it did not begin."""
        address = replace(primary, port=port)
        listening = require_short(_socket(address))
        account.remove([listening])
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-m", _PROGRAM, str(listening), str(_socket(primary))),
                *(str(round_trip_ns // 2), str(account.uid), str(account.gid)),
            ],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        started = cls(process, address, account)
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            if not process.stdout.readline():
                raise EngineError(
                    "could not add a round trip between primary and standby: its process ended",
                    detail=process.stderr.read().decode(errors="replace")[-500:].strip() or None,
                )
        except BaseException:
            started.stop()
            raise
        return started

    def stop(self) -> None:
        """End it at once; safe to call twice."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.account.remove([_socket(self.address)])


def _socket(address: Endpoint) -> Path:
    return Path(address.host) / f".s.PGSQL.{address.port}"
