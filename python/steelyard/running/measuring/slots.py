"""Starts the arms in the slots of a weighing, assigned afresh every epoch, and stops them.

Servers start and stop side by side: one after the other they are launched, in the order that was
drawn, and then waited for. What is put back before its next use is stopped at once: a last
checkpoint would be written for nothing.

Data directories belong to the slots, not to the arms: before an epoch a slot's copy is put back to
what the template is, and made what its arm of this epoch must be by the control file alone. So the
files' place on the disk is redrawn with the slot. Where putting back costs too much, the copies
follow their arms instead (`carry`), and that is a Threat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

from steelyard.engines.capabilities.life import (
    Clonable,
    Crashable,
    Protection,
    Replicable,
    Standbys,
)
from steelyard.engines.capabilities.settings import ComparableBuild
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import UNPROTECTED, Engine, Instance, LocalInstance, Slot
from steelyard.engines.intake import Configurable
from steelyard.engines.page_cache import Evicted
from steelyard.model.errors import EngineError, ServerError
from steelyard.record.plan import Residency, Upkeep
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.preparing.places import FilePlaces, log_directory
from steelyard.running.stopwatch import Stopwatch
from steelyard.study.arm import Arm

MOST_DIRTY_BYTES = 64 << 20
"""Copied bytes that may stay in memory: more is written back before the load begins, since the
kernel would do it half a minute later, during a slice."""


class _Copy(LocalInstance, Clonable, Protocol):
    """A server of this machine with a data directory of its own."""


@dataclass(frozen=True)
class Prepared:
    """An arm with all that is needed to start it."""

    arm: Arm
    engine: Engine
    templates: tuple[Path, ...]  # one a separate load of its data
    settings: Mapping[str, str]
    beneath: Mapping[str, str] | None = None
    """What its configuration file holds. None: what the engine writes there."""
    standbys: Standbys | None = None
    """What its server has beside it."""

    @property
    def protection(self) -> str:
        """The page protection of its data directory: the engine's strongest, or none."""
        return self.engine.protections[0] if self.arm.checksums else UNPROTECTED

    @property
    def in_effect(self) -> Mapping[str, str]:
        """What its server is set to: the file beneath what a start gives."""
        return {**(self.beneath or {}), **self.settings}

    @property
    def files(self) -> tuple[tuple[Path, ...], str]:
        """What decides the bytes of a data directory: two arms alike here can exchange theirs."""
        return self.templates, self.protection


class Slots:
    """The slots of one weighing, and the servers that run in them."""

    def __init__(
        self,
        arms: Sequence[Prepared],
        slot: Callable[[int], Slot],
        write_back: Callable[[], None],
        stopwatch: Stopwatch,
        evict: Callable[[Sequence[Path]], Evicted] | None = None,
        places: FilePlaces | None = None,
    ) -> None:
        """`evict`: drops what the arms' files have in the page cache, before any is started.
        `places`: where their files are in place of their slots."""
        self.arms = {prepared.arm.name: prepared for prepared in arms}
        self.slot = slot
        self._write_back = write_back
        self._phase = stopwatch
        self._evict = evict
        self._places = places or FilePlaces()
        self.evicted: Evicted | None = None
        """The result of the last time that files were laid."""
        self._copied_bytes = 0
        self._clones: dict[tuple[int, Path], _Copy] = {}
        self._carried: dict[tuple[str, Path], _Copy] = {}
        self._torn: set[Path] = set()
        """Directories of discarded servers: put back before they are used again."""
        self._started: dict[str, _Copy] = {}
        self._laid: dict[str, _Copy] = {}

    def start_arms(
        self,
        slots: Mapping[str, int],
        order: Sequence[str],
        upkeep: Upkeep,
        loads: Mapping[str, int] | None = None,
        settings: Mapping[str, Mapping[str, str]] | None = None,
    ) -> dict[str, Instance]:
        """Stop what runs, put the arms' files into their slots, start them side by side, launched
        in order; arm → server. ArmLostError names every arm that could not start.

        `loads`: arm → which of the loads of its data it uses; the first where none is given.
        `settings`: arm → settings in place of some of its own.
        """
        self.lay_arms(slots, order, upkeep, loads)
        places = {
            arm: replace(self.slot(slots[arm]), start_order=position)
            for position, arm in enumerate(order)
        }
        self._start(places, settings or {})
        return dict(self._started)

    def lay_arms(
        self,
        slots: Mapping[str, int],
        order: Sequence[str],
        upkeep: Upkeep,
        loads: Mapping[str, int] | None = None,
    ) -> None:
        """Stop what runs, and put the arms' files into their slots; none is started."""
        self.stop_arms()
        chosen = {arm: self.arms[arm].templates[(loads or {}).get(arm, 0)] for arm in order}
        with self._phase("put back"):
            places = {arm: self._places.number(arm, slots[arm]) for arm in order}
            self._laid = {arm: self._lay(arm, places[arm], upkeep, chosen[arm]) for arm in order}
            for arm, copy in self._laid.items():
                _configure(copy, self.arms[arm])
                self._places.move_log(copy, places[arm])
                if isinstance(copy, Replicable):  # another arm may have used it
                    copy.replicate(self.arms[arm].standbys)
            if self._copied_bytes > MOST_DIRTY_BYTES:
                self._write_back()
                self._copied_bytes = 0
            if self._evict is not None:
                self.evicted = self._evict(self.directories)

    def start_arm(
        self, arm: str, slot: Slot, settings: Mapping[str, str] | None = None
    ) -> LocalInstance:
        """Start an arm whose files were laid; `settings` in place of some of its own."""
        self._start({arm: slot}, {arm: settings or {}})
        return self._started[arm]

    def _start(self, places: Mapping[str, Slot], settings: Mapping[str, Mapping[str, str]]) -> None:
        """Start arms side by side; of those that could not, all are named."""
        failures: dict[str, EngineError] = {}
        with self._phase("start"):
            for arm, slot in places.items():
                copy = self._started[arm] = self._laid[arm]
                with _collected(arm, failures, ServerError):
                    copy.launch(slot, {**self.arms[arm].settings, **settings.get(arm, {})})
            for arm in [name for name in places if name not in failures]:
                with _collected(arm, failures, ServerError):
                    self._started[arm].await_ready()
        for arm in failures:
            del self._started[arm]
        if failures:
            raise ArmLostError.at_start(failures) from next(iter(failures.values()))

    @property
    def residency(self) -> Residency:
        """Each arm has a server of its own, made for the weighing."""
        return "own servers"

    @property
    def template(self) -> Path | None:
        """What the first arm's data was cloned from."""
        return next(iter(self.arms.values())).templates[0]

    @property
    def setting_rules(self) -> SettingRules:
        """Of the first arm's engine."""
        return next(iter(self.arms.values())).engine.setting_rules

    @property
    def directories(self) -> tuple[Path, ...]:
        """The data directories of the arms that were laid, and logs that are elsewhere."""
        directories = [copy.directory for copy in self._laid.values()]
        return (*directories, *filter(None, map(log_directory, self._laid.values())))

    @property
    def running_arms(self) -> Mapping[str, LocalInstance]:
        """Arm → its server, of those that were started and not stopped since."""
        return dict(self._started)

    @contextmanager
    def naming_kills(self) -> Iterator[None]:
        """An EngineError inside becomes the loss of the arm that was killed at its memory cap,
        where one was."""
        try:
            yield
        except EngineError as failure:
            killed = ArmLostError.at_its_cap(self._started)
            if killed is None:
                raise
            raise killed from failure

    def stop_arms(self) -> None:
        """Shut down every server that runs, side by side; every one is tried before the first error
        is raised."""
        failures: dict[str, EngineError] = {}
        with self._phase("stop"):
            for arm, instance in self._started.items():
                with _collected(arm, failures):
                    instance.begin_stop()
            for arm in list(self._started):
                with _collected(arm, failures):
                    self._started[arm].stop()
                del self._started[arm]
        _raise_first(failures)

    def end_arms(self, upkeep: Upkeep) -> None:
        """Stop every server that runs, whose files the next epoch lays by `upkeep`: one whose files
        are put back before it runs again writes no last checkpoint."""
        if upkeep != "restore":
            self.stop_arms()
            return
        failures: dict[str, EngineError] = {}
        with self._phase("stop"):
            for arm, instance in list(self._started.items()):
                with _collected(arm, failures):
                    if isinstance(instance, Crashable):
                        self._torn.add(instance.directory)
                        instance.discard()
                    else:
                        instance.stop()
                del self._started[arm]
        _raise_first(failures)

    def exchangeable(self) -> bool:
        """Whether any arm may use any other arm's files without putting them back."""
        return len({prepared.files for prepared in self.arms.values()}) == 1

    def _lay(self, arm: str, number: int, upkeep: Upkeep, template: Path) -> _Copy:
        if upkeep == "carry":
            return self._lay_carried(arm, number, template)
        prepared = self.arms[arm]
        copy = self._clones.get((number, template))
        if copy is None:
            copy = self._clone(prepared, template, self._directory(number, template))
        else:
            copy = _adopted(prepared.engine, copy)  # another arm's build may have used it
            upkeep = "restore" if copy.directory in self._torn else upkeep
            if upkeep == "restore":
                self._restore(copy, template)
        self._clones[(number, template)] = copy
        if upkeep == "restore":
            _protect(copy, prepared)
        return copy

    def _restore(self, copy: _Copy, template: Path) -> None:
        self._copied_bytes += copy.restore(template)
        self._torn.discard(copy.directory)

    def _lay_carried(self, arm: str, number: int, template: Path) -> _Copy:
        """Move the arm's own copy into the slot, under the name every arm's copy has there."""
        prepared, key = self.arms[arm], (arm, template)
        target = self._directory(number, template)
        for other, instance in self._carried.items():
            if instance.directory == target and other != key:
                instance.move(target.with_name(f"parked-{other[0]}-{target.name}"))
        pilot_copy = self._clones.pop((number, template), None)  # used by the pilot
        if key not in self._carried:
            self._carried[key] = self._first_copy(prepared, pilot_copy, template, target)
            return self._carried[key]
        if pilot_copy is not None:
            pilot_copy.move(target.with_name(f"spare-{target.name}"))
        if self._carried[key].directory != target:
            self._carried[key].move(target)
        return self._carried[key]

    def _first_copy(
        self, prepared: Prepared, pilot_copy: _Copy | None, template: Path, target: Path
    ) -> _Copy:
        """The copy that an arm keeps from now on: the one found there, put back, or a new one."""
        if pilot_copy is None:
            copy = self._clone(prepared, template, target)
        else:
            copy = _adopted(prepared.engine, pilot_copy)
            self._restore(copy, template)
        _protect(copy, prepared)
        return copy

    def _clone(self, prepared: Prepared, template: Path, directory: Path) -> _Copy:
        directory.parent.mkdir(parents=True, exist_ok=True)
        self._copied_bytes += MOST_DIRTY_BYTES + 1  # a whole copy: written back in any case
        return _copy(_copy(prepared.engine.open(template)).clone(directory))

    def _directory(self, number: int, template: Path) -> Path:
        every = sorted({path for prepared in self.arms.values() for path in prepared.templates})
        directory = self._places.data(number) or self.slot(number).path
        return directory / f"data{every.index(template)}"


@contextmanager
def _collected(
    arm: str, failures: dict[str, EngineError], kind: type[EngineError] = EngineError
) -> Iterator[None]:
    """An error of the kind inside is kept as the arm's, the first one, and not raised."""
    try:
        yield
    except kind as failure:
        failures.setdefault(arm, failure)


def _raise_first(failures: Mapping[str, EngineError]) -> None:
    for failure in failures.values():
        raise failure


def _adopted(engine: Engine, instance: _Copy) -> _Copy:
    """The instance as one of this engine: of two builds of a layout each may have used it."""
    if instance.identity.bindir == engine.identity.bindir:
        return instance
    if not isinstance(engine, ComparableBuild):
        raise EngineError(f'engine "{engine.identity.kind}" cannot take over a cluster')
    return _copy(engine.adopt(instance))


def _protect(instance: _Copy, prepared: Prepared) -> None:
    """Switch a copy of the template, which has the strongest protection, to the arm's."""
    if prepared.protection == prepared.engine.protections[0]:
        return
    if not isinstance(instance, Protection):
        raise EngineError(f"engine cannot switch page protection: {instance.identity.kind}")
    instance.protect(prepared.protection)


def _configure(instance: _Copy, prepared: Prepared) -> None:
    """Write the arm's configuration file anew: another arm may have used the copy."""
    if prepared.beneath is None:
        return
    if not isinstance(instance, Configurable):
        raise EngineError(f"engine has no configuration file: {instance.identity.kind}")
    instance.configure(prepared.beneath)


def _copy(instance: LocalInstance) -> _Copy:
    if not isinstance(instance, Clonable):
        raise EngineError(f"engine cannot clone its databases: {instance.identity.kind}")
    return cast(_Copy, instance)
