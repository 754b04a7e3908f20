"""The slots give every arm its place and its files, however the files are kept equal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.noop import NOOP_IDENTITY, Journal, NoopEngine, NoopInstance
from steelyard.running.slots import Prepared, Stand, Upkeep
from steelyard.study.study import Arm

ARMS = {"on": True, "off": False, "also off": False}


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Two arms that share a template, and a third, of another version, with its own."""
    engine = NoopEngine()
    prepared = []
    for name, checksums in ARMS.items():
        template = tmp_path / ("older" if name == "also off" else "template")
        engine.create(template, checksums=True)
        arm = Arm(name=name.replace(" ", "-"), checksums=checksums)
        prepared.append(Prepared(arm, engine, (template,), {}))
    return Stand(
        prepared, lambda n: Slot(n, tmp_path / f"slot{n}", tmp_path, 54320 + n), lambda: None
    )


def test_arms_carry_their_files_on_after_the_pilot_put_copies_into_the_slots(stand: Stand) -> None:
    names = list(stand.arms)
    for places in itertools.permutations(range(3)):
        stand.put_up(dict(zip(names, places, strict=True)), names, "restore")
    own: dict[str, object] = {}
    for places in itertools.permutations(range(3)):
        slots = dict(zip(names, places, strict=True))
        standing = stand.put_up(slots, names, "carry")
        for name, instance in standing.items():
            assert isinstance(instance, NoopInstance)
            assert own.setdefault(name, instance) is instance, "each copy follows its arm"
            assert instance.directory.parent.name == f"slot{slots[name]}"
            assert instance.checksums == stand.arms[name].arm.checksums
    stand.take_down()


def test_arms_that_are_equal_on_disk_may_exchange_their_files(stand: Stand) -> None:
    assert not stand.exchangeable()
    alike = [stand.arms["on"], stand.arms["on"]]
    assert Stand(alike, stand.slot, lambda: None).exchangeable()


def built(version: str, journal: Journal) -> NoopEngine:
    return NoopEngine(
        replace(NOOP_IDENTITY, version=version, bindir=f"/{version}"), journal=journal
    )


def test_a_build_starts_the_copy_that_another_build_of_its_layout_left(tmp_path: Path) -> None:
    journal = Journal()
    engines = {name: built(name, journal) for name in ("master", "patched")}
    template = tmp_path / "template"
    engines["master"].create(template, checksums=True)
    prepared = [Prepared(Arm(name=n), e, (template,), {}) for n, e in engines.items()]
    stand = Stand(prepared, lambda n: Slot(n, tmp_path / f"slot{n}", tmp_path, n), lambda: None)
    for slots in ({"master": 0, "patched": 1}, {"master": 1, "patched": 0}) * 2:
        standing = stand.put_up(slots, list(slots), "restore")
        for name, instance in standing.items():
            assert instance.identity.version == name
            assert instance.directory.parent.name == f"slot{slots[name]}"
    stand.take_down()
    assert len([call for call in journal.calls if call.action == "clone"]) == 2


@pytest.mark.parametrize("upkeep", ["restore", "carry"])
def test_each_load_of_an_arm_has_a_copy_of_its_own(tmp_path: Path, upkeep: Upkeep) -> None:
    journal = Journal()
    prepared = []
    for name in ("older", "newer"):
        engine = built(name, journal)
        loads = tuple(tmp_path / f"{name}{number}" for number in range(3))
        for load in loads:
            engine.create(load, checksums=True)
        prepared.append(Prepared(Arm(name=name), engine, loads, {}))
    stand = Stand(prepared, lambda n: Slot(n, tmp_path / f"slot{n}", tmp_path, n), lambda: None)
    seen: dict[tuple[str, int], set[str]] = {}
    for older, newer, turned in itertools.product(range(3), range(3), (False, True)):
        slots = {"older": int(turned), "newer": int(not turned)}
        loads = {"older": older, "newer": newer}
        for name, instance in stand.put_up(slots, list(slots), upkeep, loads).items():
            assert instance.directory.parent.name == f"slot{slots[name]}"
            seen.setdefault((name, loads[name]), set()).add(instance.directory.name)
    stand.take_down()
    assert len({name for names in seen.values() for name in names}) == 6
    assert all(len(names) == 1 for names in seen.values()), "a load keeps its name in every slot"
