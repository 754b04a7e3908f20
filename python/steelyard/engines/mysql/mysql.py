"""MySQL and MariaDB as engines: one build, run under one account; what it takes of memory, and
which settings it refuses, before any data is loaded.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.checkpoints import Cycle, Scaled
from steelyard.engines.capabilities.memory import MemoryNeed, MemorySettings
from steelyard.engines.engine import UNPROTECTED, Instance, Settings, Slot
from steelyard.engines.mysql.builds.build import Build
from steelyard.engines.mysql.life.data_directory import (
    CRC32,
    make_instance,
    product,
    series,
    series_of,
    serving_pid,
    stopped_identifier,
)
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.life.server import quoted, reason
from steelyard.engines.mysql.settings import (
    DEDICATED,
    LOAD_SETTINGS,
    POOL,
    SETTING_RULES,
    defaults_of,
    help_of,
    is_optional,
    listed_in,
    normal,
    passed_over,
    refuse_slot_settings,
    reported_name,
    same_value,
)
from steelyard.engines.mysql.sql.own_time import cycle_of, in_own_time, scaled
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError, UsageError, nearest_hint
from steelyard.model.identity import BuildDefaults, Default, Identity

_UNKNOWN = re.compile(r"unknown (?:variable|option) '(?:--)?([^'=]+)")
_IGNORED = re.compile(r"\[Warning\].*(ignoring option '.*' due to invalid value '.*')")
_REMOVED = re.compile(r"\[Warning\].*'([^']+)' was removed\. It does nothing")
"""MariaDB's word about an option of older versions, which it takes and does not report."""
_MEMORY = MemorySettings(pool=POOL, huge_pages="large_pages", megabytes="M")


class Mysql:
    """A build of MySQL or MariaDB that the account can run.

    Implements TemplateEngine, LoadableEngine, SettingsCheck, OptionalSettings, ComparableBuild,
    CycleSettings, OwnTimeSettings and NeedsMemory.
    """

    protections = (CRC32, UNPROTECTED)
    setting_rules = SETTING_RULES

    def __init__(self, build: Build, identity: Identity, account: Account) -> None:
        self._build = build
        self._identity = identity
        self._account = account

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def account(self) -> Account:
        """The account that its servers run under."""
        return self._account

    def validate(self, settings: Settings) -> None:
        """UsageError for an unknown setting, ServerError for a value this build does not take."""
        validate_settings(product(self._identity), self._build, self._account, settings)

    def unknown(self, settings: Settings) -> frozenset[str]:
        """Those behind loose_ by which its servers do nothing: unknown ones, or removed."""
        if not any(map(is_optional, settings)):
            return frozenset()
        return passed_over(settings, defaults_of(self._build, self._account))

    def memory_need(self, settings: Settings) -> MemoryNeed:
        """Its buffer pool, and whether that stands in huge pages."""
        return memory_need(self._build, self._account, settings)

    @property
    def log_checkpoints(self) -> Settings:
        """None: there are none to be seen."""
        return {}

    def cycle(self, settings: Settings) -> Cycle:
        """How much log turns over in one cycle, by settings as a server reports them."""
        return cycle_of(settings)

    def scaled(self, settings: Settings, factor: float) -> Scaled:
        """The room of the log, divided by a factor."""
        return scaled(settings, factor)

    def in_own_time(self, settings: Settings, factor: float, arms: int) -> Scaled:
        """The same where its servers stand still while other arms work, with its timers."""
        return in_own_time(settings, factor, arms)

    def create(self, directory: Path, *, protection: str) -> MysqlInstance:
        """Make a new server in `directory`, superuser "root" without a password; its pages carry
        checksums whatever the protection, which says how it is started."""
        directory = directory.absolute()
        make_instance(self._build, self._identity, self._account, directory)
        instance = self._instance(directory)
        if protection != CRC32:
            instance.protect(protection)
        return instance

    @property
    def load_settings(self) -> Settings:
        """Of a server that is loaded and then stopped."""
        return LOAD_SETTINGS

    def catalogue_edition(self) -> list[int]:
        """Releases of a series share their data directories."""
        return []

    def stopped_identifier(self, directory: Path) -> int | None:
        """Identifies the state that a server was stopped in; None: its pages carry no checksum."""
        return stopped_identifier(directory)

    def build_defaults(self, slot: Slot) -> BuildDefaults:
        """Its layout and defaults, read from a server that is made at a free slot and removed."""
        directory = slot.path / "examined"
        instance = self.create(directory, protection=CRC32)
        try:
            instance.start(slot, {})
            try:
                reported = instance.settings()
            finally:
                instance.stop()
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return BuildDefaults(_layout(self._identity, reported), self._defaults(reported))

    def _defaults(self, reported: Mapping[str, str]) -> dict[str, Default]:
        """What can be set is what the command line accepts; the rest is read-only. MariaDB's help
        also lists what it is compiled with, which it does not accept."""
        settable = defaults_of(self._build, self._account).keys() - SETTING_RULES.compiled
        return {
            name: Default(value, "", "startup" if name in settable else "internal")
            for name, value in reported.items()
        }

    def adopt(self, instance: Instance) -> MysqlInstance:
        """The same stopped server, to be started by this build; its series must be this one's."""
        if not isinstance(instance, MysqlInstance):
            raise EngineError(
                f'{product(self._identity)} cannot open a cluster of "{instance.identity.kind}"'
            )
        return instance.adopted(self._build, self._identity)

    def open(self, directory: Path) -> MysqlInstance:
        """The stopped server that stands in `directory`, of this series."""
        directory = directory.absolute()
        made_by = series_of(directory)
        if made_by != series(self._identity):
            raise EngineError(
                f'cannot open data directory "{directory}" with {product(self._identity)}: it was '
                f"made by {made_by}"
            )
        pid = serving_pid(directory)
        if pid is not None:
            raise EngineError(
                f'could not open data directory "{directory}": it is in use',
                detail=f"Its server is process {pid}.",
            )
        return self._instance(directory)

    def run_program(self, name: str, *arguments: str) -> tuple[int, str] | None:
        """Exit status and output of one of the build's programs; None: the build lacks it."""
        places = (self._build.server.parent, self._build.base / "bin")
        program = next(
            (directory / name for directory in places if (directory / name).is_file()), None
        )
        if program is None:
            return None
        command = [str(program), *arguments]
        return run(self._account, command, environment=self._build.environment)

    def _instance(self, directory: Path) -> MysqlInstance:
        return MysqlInstance(self._build, self._identity, self._account, directory)


def _layout(identity: Identity, reported: Mapping[str, str]) -> dict[str, int]:
    """Of data directories: builds whose layouts are equal can open each other's."""
    return {
        identity.kind: identity.version_number // 100,
        "innodb_page_size": int(reported.get("innodb_page_size", "0")),
    }


def validate_settings(name: str, build: Build, account: Account, settings: Settings) -> None:
    """Raise the error that the server would report at its start; `name` names the server in it.

    `--verbose --help` reads the command line as a starting server does and needs no data
    directory. A value that the server would silently change is refused too.
    """
    refuse_slot_settings(settings)
    status, output = help_of(build, account, settings)
    unknown = next((m for m in _UNKNOWN.finditer(output) if not is_optional(m[1])), None)
    if unknown is not None:
        setting = unknown[1].lower().replace("-", "_")
        raise UsageError(
            f'unrecognized setting: "{setting}"',
            detail=f"{name}: {unknown[0]}'",
            hint=nearest_hint(setting, defaults_of(build, account)),
        )
    refusal = reason(output)
    if status != 0 or refusal:
        why = refusal or f"it ended with status {status}"
        raise ServerError(f"{name} refuses the settings: {why}", detail=quoted(output) or None)
    ignored = _IGNORED.search(output)
    if ignored is not None:
        raise ServerError(f"{name} refuses the settings: {ignored[1]}")
    _refuse_removed(name, normal(settings), _REMOVED.findall(output))
    _require_unchanged(name, normal(settings), listed_in(output))


def _refuse_removed(name: str, settings: Mapping[str, str], removed: Collection[str]) -> None:
    """UsageError for a setting that does nothing: arms that differ in it would be equal."""
    for option in (each.lower().replace("-", "_") for each in removed):
        if option in settings:
            raise UsageError(
                f'setting "{option}" does nothing in {name}: it was removed',
                hint=f"Leave it out, or write loose_{option} where it may do nothing.",
            )


def _require_unchanged(
    name: str, settings: Mapping[str, str], listed: Mapping[str, str | None]
) -> None:
    """ServerError for a value that the server takes as another one: 5.7 does so silently."""
    for setting, written in settings.items():
        parsed = listed.get(setting.removeprefix("loose_"))
        if parsed is not None and not same_value(written, parsed):
            raise ServerError(
                f'{name} refuses the settings: "{setting}" = {written} would be taken as {parsed}'
            )


def memory_need(build: Build, account: Account, settings: Settings) -> MemoryNeed:
    """By innodb_buffer_pool_size, and large_pages, as the server itself reads the settings; by the
    machine's memory where innodb_dedicated_server has the server size its pool as it starts."""
    defaults: Mapping[str, str | None] = defaults_of(build, account, settings)
    pool_bytes = int(defaults.get(POOL) or 0)
    if defaults.get(DEDICATED) == "TRUE" and not _sets_pool(settings):
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        pool_bytes = dedicated_pool_bytes(memory_bytes, pool_bytes)
    return MemoryNeed(
        pool_bytes=pool_bytes,
        huge_pages="on" if (defaults.get("large_pages") or "FALSE") == "TRUE" else "off",
        settings=_MEMORY,
    )


def _sets_pool(settings: Settings) -> bool:
    """Whether the size of the pool is among settings, however its name is spelt."""
    return any(reported_name(option) == POOL for option in settings)


def dedicated_pool_bytes(memory_bytes: int, default_bytes: int) -> int:
    """The pool that a server makes with innodb_dedicated_server where its size is not set.

    Source: "Enabling Automatic InnoDB Configuration for a Dedicated MySQL Server", MySQL 8.0.
    """
    if memory_bytes < 1 << 30:
        return default_bytes
    return memory_bytes // 2 if memory_bytes <= 4 << 30 else memory_bytes * 3 // 4
