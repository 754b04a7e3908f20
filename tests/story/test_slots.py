"""The slots give every arm its place and its files, however the files are kept equal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.engine import Slot
from steelyard.running.measuring.slots import Prepared, Slots, Upkeep
from steelyard.running.stopwatch import Stopwatch
from steelyard.study.arm import Arm
from story.noop.engine import NoopEngine, NoopInstance
from story.noop.journal import NOOP_IDENTITY, Journal

ARMS = {"on": True, "off": False, "also off": False}


@pytest.fixture
def places(tmp_path: Path) -> Slots:
    """Two arms that share a template, and a third, of another version, with its own."""
    engine = NoopEngine()
    prepared = []
    for name, checksums in ARMS.items():
        template = tmp_path / ("older" if name == "also off" else "template")
        engine.create(template, protection="checksums")
        arm = Arm(name=name.replace(" ", "-"), checksums=checksums)
        prepared.append(Prepared(arm, engine, (template,), {}))
    return slots_of(prepared, tmp_path)


def slots_of(prepared: list[Prepared], directory: Path) -> Slots:
    def slot(number: int) -> Slot:
        return Slot(number, directory / f"slot{number}", directory, 54320 + number)

    return Slots(prepared, slot, lambda: None, Stopwatch(lambda: 0))


def test_arms_carry_their_files_on_after_the_pilot_put_copies_into_the_slots(places: Slots) -> None:
    names = list(places.arms)
    for order in itertools.permutations(range(3)):
        places.start_arms(dict(zip(names, order, strict=True)), names, "restore")
    own: dict[str, object] = {}
    for order in itertools.permutations(range(3)):
        slots = dict(zip(names, order, strict=True))
        standing = places.start_arms(slots, names, "carry")
        for name, instance in standing.items():
            assert isinstance(instance, NoopInstance)
            assert own.setdefault(name, instance) is instance, "each copy follows its arm"
            assert instance.directory.parent.name == f"slot{slots[name]}"
            assert instance.protection == places.arms[name].protection
    places.stop_arms()


def test_arms_that_are_equal_on_disk_may_exchange_their_files(
    places: Slots, tmp_path: Path
) -> None:
    assert not places.exchangeable()
    alike = [places.arms["on"], places.arms["on"]]
    assert slots_of(alike, tmp_path).exchangeable()


def built(version: str, journal: Journal) -> NoopEngine:
    return NoopEngine(
        replace(NOOP_IDENTITY, version=version, bindir=f"/{version}"), journal=journal
    )


def test_a_build_starts_the_copy_that_another_build_of_its_layout_left(tmp_path: Path) -> None:
    journal = Journal()
    engines = {name: built(name, journal) for name in ("master", "patched")}
    template = tmp_path / "template"
    engines["master"].create(template, protection="checksums")
    prepared = [Prepared(Arm(name=n), e, (template,), {}) for n, e in engines.items()]
    places = slots_of(prepared, tmp_path)
    for slots in ({"master": 0, "patched": 1}, {"master": 1, "patched": 0}) * 2:
        standing = places.start_arms(slots, list(slots), "restore")
        for name, instance in standing.items():
            assert instance.identity.version == name
            assert instance.directory.parent.name == f"slot{slots[name]}"
    places.stop_arms()
    assert len([call for call in journal.calls if call.action == "clone"]) == 2


@pytest.mark.parametrize("upkeep", ["restore", "carry"])
def test_each_load_of_an_arm_has_a_copy_of_its_own(tmp_path: Path, upkeep: Upkeep) -> None:
    journal = Journal()
    prepared = []
    for name in ("older", "newer"):
        engine = built(name, journal)
        loads = tuple(tmp_path / f"{name}{number}" for number in range(3))
        for load in loads:
            engine.create(load, protection="checksums")
        prepared.append(Prepared(Arm(name=name), engine, loads, {}))
    places = slots_of(prepared, tmp_path)
    seen: dict[tuple[str, int], set[str]] = {}
    for older, newer, turned in itertools.product(range(3), range(3), (False, True)):
        slots = {"older": int(turned), "newer": int(not turned)}
        loads = {"older": older, "newer": newer}
        for name, instance in places.start_arms(slots, list(slots), upkeep, loads).items():
            assert instance.directory.parent.name == f"slot{slots[name]}"
            seen.setdefault((name, loads[name]), set()).add(instance.directory.name)
    places.stop_arms()
    assert len({name for names in seen.values() for name in names}) == 6
    assert all(len(names) == 1 for names in seen.values()), "a load keeps its name in every slot"
