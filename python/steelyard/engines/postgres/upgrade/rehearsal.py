"""Rehearses an upgrade on a copy: checks, pg_upgrade in its ways, checksums, statistics."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import free_bytes, open_cache, require_room
from steelyard.engines.engine import Slot
from steelyard.engines.intake import DataPlace, ServerSettings, SettingsPlace
from steelyard.engines.local.processes import ending_strays
from steelyard.engines.postgres.builds.find import discovered
from steelyard.engines.postgres.intake.import_cluster import require_database
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.engines.postgres.intake.server_settings import (
    configuration_elsewhere,
    read_server_settings,
)
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.recovery import recovery_settings
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import select_engines
from steelyard.engines.postgres.settings import read_preset
from steelyard.engines.postgres.upgrade.attempts import Attempts
from steelyard.engines.postgres.upgrade.copies import CopyHome, configure_for_upgrade, take_copy
from steelyard.engines.postgres.upgrade.facts import ClusterFacts, read_facts, resolve_blocks
from steelyard.engines.postgres.upgrade.findings import (
    copy_findings,
    extension_findings,
    offered_findings,
    setting_changes,
)
from steelyard.engines.postgres.upgrade.original_state import (
    FIRST_CARRIED,
    OriginalState,
    locales_of,
    read_state,
    require_locales,
    slot_findings,
    state_findings,
)
from steelyard.engines.postgres.upgrade.outcome import (
    RehearsalFinding,
    SettingChange,
    UpgradeOutcome,
)
from steelyard.engines.postgres.upgrade.pg_upgrade import (
    NEW_PROGRAMS,
    OLD_PROGRAMS,
    Upgrader,
    require_programs,
)
from steelyard.engines.postgres.upgrade.slots import copy_slots, slot_settings
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.units import format_bytes

Report = Callable[[str], None]
_BESIDE_BYTES = 256 << 20
"""Of new catalogues, their log and the dump of a schema."""
_EMPTY_LOGS = 4
"""Segments of the log of new clusters, with checksums and without: two each."""
_WEIGHED_COPIES = 10
"""Where work is weighed afterwards: as `weigh` requires for two versions, each with one load, and
four arms."""


@dataclass(frozen=True)
class UpgradeRequest:
    """What is to be rehearsed."""

    place: Path
    version: str
    ways: tuple[str, ...]
    source: str = ""  # as the user named it, where that is not the place
    jobs: int = 0  # 0: a job a processor
    account: str | None = None
    old_bindir: Path | None = None
    new_bindir: Path | None = None
    configuration: Path | None = None
    reported: bool = False  # the configuration is what a running server said of itself
    weighs: bool = False  # whether work is driven on the data afterwards
    database: str | None = None  # on which it is driven; None: the only one
    partial: str = ""  # why that is not all of it
    slots: tuple[tuple[str, bool], ...] = field(default=())
    """Of a running server, which a base backup of it does not hold: name, whether logical."""

    def settings_of(self, place: DataPlace) -> SettingsPlace:
        """Where the settings of its server are."""
        return SettingsPlace(place.path, place.kind, self.configuration, self.reported)


def rehearse(request: UpgradeRequest, report: Report) -> UpgradeOutcome:
    """Upgrade a copy of the place; nothing of the copy is left, and of the original nothing is
    written. UsageError: there is nothing to upgrade; EngineError: it cannot be rehearsed, and why.
    """
    place = inspect_source(request.place)
    old, new = _engines(request, place)
    require_programs(old, OLD_PROGRAMS, "--old-bindir")
    require_programs(new, NEW_PROGRAMS, "--new-bindir")
    state = read_state(place)
    for engine, option in ((old, "--old-bindir"), (new, "--new-bindir")):
        _require_layout(engine, state, option)
    if request.weighs:
        _require_listed(place)
        require_database(place, request.database)
    _require_locales(place, state, (old, new))
    _require_space(place, state, _WEIGHED_COPIES if request.weighs else 2)
    offered = read_server_settings(request.settings_of(place))
    with open_run(open_cache(), new.account) as run, ending_strays(run.directory, new.account):
        slot = run.slot(0)
        return _Rehearsal(request, place, state, old, new, slot, report).outcome(offered)


@dataclass(frozen=True)
class _Rehearsal:
    request: UpgradeRequest
    place: DataPlace
    state: OriginalState
    old: Postgres
    new: Postgres
    slot: Slot
    report: Report

    def outcome(self, offered: ServerSettings) -> UpgradeOutcome:
        self.report("compare the settings of both versions")
        new_settings, old_settings = self.new.known(offered), self.old.known(offered)
        changes = self._setting_changes(offered, old_settings, new_settings)
        home = CopyHome(self.slot.path / "old")
        account = self.old.account
        names = self._carried_slots()
        needed = slot_settings(names, old_settings.settings)

        def with_slots() -> Mapping[str, str]:
            copy_slots(self.place, home, names, account)
            return needed

        cluster, owner = take_copy(self.old, self.place, home, self.report, with_slots)
        self.report("read what is in the copy")
        facts = self._facts(cluster, owner, needed)
        if self.request.weighs:
            _require_database(facts, self.request.database)
        # Of a list of libraries both preload those that both have.
        settings = {**self.new.known(old_settings).settings, **needed}
        configure_for_upgrade(cluster, settings)
        jobs = self.request.jobs or len(os.sched_getaffinity(0))
        upgrader = Upgrader(
            self.old,
            self.new,
            owner,
            jobs,
            self.slot.socket_directory,
            self.state.wal_segment_bytes,
            facts.template,
            settings,
        )
        attempts = Attempts(upgrader, self.slot, home, facts, self.report)
        fresh = attempts.read_new()
        findings = [*self._findings(facts), *extension_findings(facts, fresh)]
        findings += offered_findings(offered)
        rehearsed = attempts.run(self.request.ways, old_checksums=self.state.checksums)
        source = self.request.source or str(self.place.path)
        return UpgradeOutcome(
            source=source,
            old_version=self.old.identity.version,
            new_version=self.new.identity.version,
            old_bindir=_bindir(self.old, "OLD_BIN"),
            new_bindir=_bindir(self.new, "NEW_BIN"),
            old_engine=_listed_name(self.old),
            new_engine=_listed_name(self.new),
            owner=owner,
            bytes=self.place.bytes,
            databases={name: each.bytes for name, each in facts.databases.items()},
            relations=facts.total("relations"),
            large_objects=facts.total("large_objects"),
            jobs=jobs,
            wal_segment_bytes=self.state.wal_segment_bytes,
            old_checksums=self.state.checksums,
            mismatch=rehearsed.mismatch,
            findings=(*findings, *rehearsed.findings),
            settings=changes,
            attempts=tuple(rehearsed.attempts),
            enabling=rehearsed.enabling,
            statistics=rehearsed.statistics,
            start_seconds=rehearsed.start_seconds,
            extension_updates=rehearsed.extension_updates,
            slots=rehearsed.slots,
            old_configuration=self._configuration,
        )

    @cached_property
    def _configuration(self) -> str:
        """The old server's postgresql.conf, where it stands outside of a data directory."""
        if self.place.kind != "data directory":
            return ""
        elsewhere = configuration_elsewhere(self.request.settings_of(self.place))
        return "" if elsewhere is None else str(elsewhere)

    def _carried_slots(self) -> list[str]:
        """Logical slots that stand in the original's files, and that pg_upgrade may carry over."""
        if _major(self.old) < FIRST_CARRIED or self.place.kind != "data directory":
            return []
        return [name for name, logical in self.state.slots if logical]

    def _facts(self, cluster: Cluster, owner: str, needed: Mapping[str, str]) -> ClusterFacts:
        """Of the old copy, in which is done by then what has to be done in the original first."""
        cluster.start(self.slot, {**recovery_settings(cluster), **needed})
        try:
            facts = read_facts(cluster, owner)
            resolve_blocks(cluster, owner, facts)
            if facts.closed:
                facts = replace(facts, databases=read_facts(cluster, owner).databases)
        finally:
            cluster.stop()
        return facts

    def _findings(self, facts: ClusterFacts) -> list[RehearsalFinding]:
        old, new = _major(self.old), _major(self.new)
        findings = state_findings(self.place, self.state, old, new, self._configuration)
        findings += slot_findings(self.request.slots, old)
        return [*findings, *copy_findings(facts)]

    def _setting_changes(
        self, offered: ServerSettings, old_settings: ServerSettings, new_settings: ServerSettings
    ) -> tuple[SettingChange, ...]:
        refused = frozenset(offered.settings) - frozenset(old_settings.settings)
        old, new = self.old.build_defaults(self.slot), self.new.build_defaults(self.slot)
        return setting_changes(offered, refused, new_settings, old, new)


def _engines(request: UpgradeRequest, place: DataPlace) -> tuple[Postgres, Postgres]:
    """The builds of both versions, of one builder where possible."""
    if place.kind == "dump" or place.major is None:
        raise UsageError(
            f'cannot upgrade "{place.path}": it is a dump',
            hint="A dump is restored into the new version by pg_restore or psql, without "
            "pg_upgrade. Name a data directory, a base backup, or a running server.",
        )
    requests = [
        BuildRequest(place.major, request.old_bindir),
        BuildRequest(request.version, request.new_bindir),
    ]
    old, new = select_engines(requests, request.account)
    if _major(old) != int(place.major):
        raise UsageError(
            f'cannot start "{place.path}" with PostgreSQL {old.identity.version}: it was made by '
            f"version {place.major}",
            hint=f"Name the programs of {place.major}: --old-bindir DIR",
        )
    if _major(new) <= _major(old):
        raise UsageError(
            f"cannot upgrade from {place.major} to {new.identity.version}: that is no later "
            "major version",
            hint="Minor versions need no upgrade: install the new programs and restart."
            if _major(new) == _major(old)
            else "Name a later version: --to VERSION",
        )
    return old, new


def _major(engine: Postgres) -> int:
    return engine.identity.version_number // 10000


def _bindir(engine: Postgres, placeholder: str) -> str:
    """Where the programs are on the user's machine; of a build that came with us, a placeholder."""
    installed = engine.build.origin in ("system", "bindir")
    return str(engine.build.bindir) if installed else placeholder


def _require_database(facts: ClusterFacts, database: str | None) -> None:
    """UsageError: work is to be driven on one that is not there, or on which of several is not
    said."""
    databases = [name for name in facts.databases if name not in ("postgres", "template1")]
    listed = f"There are {', '.join(databases or facts.databases)}."
    if database is not None and database not in facts.databases:
        raise UsageError(f'there is no database "{database}" in it', detail=listed)
    if database is None and len(databases) > 1:
        raise UsageError(
            "cannot choose among several databases", detail=listed, hint="Name one: --database NAME"
        )


def _require_listed(place: DataPlace) -> None:
    """EngineError: no engine of the old version is listed, and copies that are weighed are upgraded
    by one."""
    if not any(each.answers(place.major or "") for each in discovered()):
        raise EngineError(
            f"cannot weigh your work: no engine of PostgreSQL {place.major} is listed",
            hint="Add its programs first: steelyard engines add DIR",
        )


def _listed_name(engine: Postgres) -> str:
    """By which a study requests the same build; "": it is not listed, and is named by its place."""
    identity = engine.identity
    for each in discovered():
        same = (each.identity.version, each.identity.origin, each.identity.builder)
        if same == (identity.version, identity.origin, identity.builder):
            return each.name
    return ""


def _require_layout(engine: Postgres, state: OriginalState, option: str) -> None:
    """EngineError where the build was made for pages or files of another size."""
    build, account = engine.build, engine.account
    values = {"block_size": state.block_bytes, "segment_size": state.segment_blocks}
    for name, value in values.items():
        built = int(read_preset(build, account, name))
        if built != value:
            unit = state.block_bytes if name == "segment_size" else 1
            raise EngineError(
                f"cannot upgrade with this build of PostgreSQL {engine.identity.version}: its "
                f"{name} is {format_bytes(built * unit)}, the cluster's "
                f"{format_bytes(value * unit)}",
                hint=f"Name a build that was configured like the cluster's server: {option} DIR",
            )


def _require_locales(place: DataPlace, state: OriginalState, builds: Sequence[Postgres]) -> None:
    try:
        locales = locales_of(place.path, state.block_bytes, int(place.major or 0))
    except (OSError, ValueError, KeyError):
        return  # said by what opens the copy
    require_locales(locales, builds)


def _require_space(place: DataPlace, state: OriginalState, copies: int) -> None:
    """EngineError: there is no room for the copy and what is made of it, at any time until the
    end."""
    root = open_cache().root
    require_room(
        "could not rehearse the upgrade",
        copies * place.bytes + _BESIDE_BYTES + _EMPTY_LOGS * state.wal_segment_bytes,
        free_bytes(root),
        detail=f'Needed under "{root}" for {copies} copies of the data, as they are and upgraded.',
    )
