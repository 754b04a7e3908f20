"""The slots give every arm its place and its files, however the files are kept equal."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.noop import NoopEngine, NoopInstance
from steelyard.study.study import Arm
from steelyard.weighing.stand import Prepared, Stand

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
        prepared.append(Prepared(arm, engine, template, {}))
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
