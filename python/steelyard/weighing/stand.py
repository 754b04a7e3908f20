"""Holds the slots of a weighing and puts the arms into them, afresh every epoch.

Data directories belong to the slots, not to the arms: before an epoch a slot's copy is put back to
what the template is, and made what its arm of this epoch must be by the control file alone. So the
files' place on the disk is redrawn with the slot. Where putting back costs too much, the copies
follow their arms instead (`carry`), and that is a Threat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from steelyard.engines.engine import Clonable, Engine, Freezable, Instance, Slot
from steelyard.errors import EngineError, ServerError
from steelyard.study.study import Arm
from steelyard.weighing.losses import ArmLostError

Upkeep = Literal["restore", "exchange", "carry"]
"""restore: slots' copies are put back to the template before every epoch;
exchange: they stay as the last epoch left them, and any arm may get any of them;
carry: each copy follows its arm from slot to slot."""


MOST_DIRTY_BYTES = 64 << 20
"""Copied bytes that may wait in memory: more is written back before anybody is measured, since the
kernel would do it half a minute later, in somebody's slice."""


@dataclass(frozen=True)
class Prepared:
    """An arm with all that it needs to stand up."""

    arm: Arm
    engine: Engine
    template: Path
    settings: Mapping[str, str]

    @property
    def files(self) -> tuple[Path, bool]:
        """What decides the bytes of a data directory: two arms alike here can exchange theirs."""
        return self.template, self.arm.checksums


class Stand:
    """The slots of one weighing, and the servers that stand in them."""

    def __init__(
        self,
        arms: Sequence[Prepared],
        slot: Callable[[int], Slot],
        write_back: Callable[[], None],
    ) -> None:
        self.arms = {prepared.arm.name: prepared for prepared in arms}
        self.slot = slot
        self._write_back = write_back
        self._copied_bytes = 0
        self._clones: dict[tuple[int, Path], Instance] = {}
        self._carried: dict[str, Instance] = {}
        self.standing: dict[str, Instance] = {}

    def put_up(
        self, slots: Mapping[str, int], order: Sequence[str], upkeep: Upkeep
    ) -> dict[str, Instance]:
        """Stop what stands, lay the arms into their slots, start them in order; arm → server."""
        self.take_down()
        laid = {arm: self._lay(arm, slots[arm], upkeep) for arm in order}
        if self._copied_bytes > MOST_DIRTY_BYTES:
            self._write_back()
            self._copied_bytes = 0
        for place, arm in enumerate(order):
            slot = replace(self.slot(slots[arm]), start_order=place)
            try:
                laid[arm].start(slot, self.arms[arm].settings)
            except ServerError as failure:
                raise ArmLostError.at_start(arm, failure) from failure
            self.standing[arm] = laid[arm]
        return dict(self.standing)

    def take_down(self) -> None:
        """Stop every server that stands; every one is tried before the first error is raised."""
        failures: list[EngineError] = []
        for arm, instance in list(self.standing.items()):
            try:
                if isinstance(instance, Freezable):
                    instance.thaw()
                instance.stop()
            except EngineError as failure:
                failures.append(failure)
            del self.standing[arm]
        if failures:
            raise failures[0]

    def exchangeable(self) -> bool:
        """Whether any arm may stand on any other arm's files without putting them back."""
        return len({prepared.files for prepared in self.arms.values()}) == 1

    def _lay(self, arm: str, number: int, upkeep: Upkeep) -> Instance:
        if upkeep == "carry":
            return self._lay_carried(arm, number)
        prepared = self.arms[arm]
        known = self._clones.get((number, prepared.template))
        if known is None:
            known = self._clone(prepared, self._directory(number, prepared.template))
            self._clones[(number, prepared.template)] = known
        elif upkeep == "restore":
            self._copied_bytes += _clonable(known).restore(prepared.template)
        if upkeep == "restore" and not prepared.arm.checksums:
            _clonable(known).set_checksums(False)
        return known

    def _lay_carried(self, arm: str, number: int) -> Instance:
        """Move the arm's own copy into the slot, under the name every arm's copy has there."""
        prepared = self.arms[arm]
        target = self._directory(number, prepared.template)
        for other, instance in self._carried.items():
            if instance.directory == target and other != arm:
                _clonable(instance).move(target.with_name(f"parked-{other}"))
        found = self._clones.pop((number, prepared.template), None)  # stood here for the pilot
        if arm not in self._carried:
            self._carried[arm] = self._first_copy(prepared, found, target)
            return self._carried[arm]
        if found is not None:
            _clonable(found).move(target.with_name(f"spare-{target.name}"))
        if self._carried[arm].directory != target:
            _clonable(self._carried[arm]).move(target)
        return self._carried[arm]

    def _first_copy(self, prepared: Prepared, found: Instance | None, target: Path) -> Instance:
        """The copy that an arm keeps from now on: the one that stands there, put back, or new."""
        copy = found or self._clone(prepared, target)
        if found is not None:
            self._copied_bytes += _clonable(copy).restore(prepared.template)
        if not prepared.arm.checksums:
            _clonable(copy).set_checksums(False)
        return copy

    def _clone(self, prepared: Prepared, directory: Path) -> Instance:
        directory.parent.mkdir(parents=True, exist_ok=True)
        template = prepared.engine.open(prepared.template)
        self._copied_bytes += MOST_DIRTY_BYTES + 1  # a whole copy: written back in any case
        return _clonable(template).clone(directory)

    def _directory(self, number: int, template: Path) -> Path:
        templates = sorted({prepared.template for prepared in self.arms.values()})
        return self.slot(number).path / f"data{templates.index(template)}"


def _clonable(instance: Instance) -> Clonable:
    if not isinstance(instance, Clonable):
        raise EngineError(f"engine cannot clone its databases: {instance.identity.kind}")
    return instance
