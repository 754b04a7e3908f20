"""Arms on places of the user's: two directories alike, and two file systems, a log elsewhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from underway import QUICK, Underway

from own_cache import open_directory
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]
Start = Callable[..., Underway]
OF_PLACES = ("data directory tied to the arm", "pages may be torn")


@pytest.fixture
def home() -> Iterator[Path]:
    with open_directory() as made:
        yield made


@pytest.fixture
def file_systems(home: Path) -> Iterator[tuple[Path, Path]]:
    """One of ext4, and another without a journal that is mounted noatime; on loop devices."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    places = []
    try:
        for name, made_by, mounted in (("one", (), ""), ("two", ("-O", "^has_journal"), "noatime")):
            image, place = home / f"{name}.img", home / name
            image.touch()
            os.truncate(image, 2600 << 20)
            place.mkdir(mode=0o755)
            subprocess.run(["mkfs.ext4", "-q", "-F", *made_by, str(image)], check=True)
            options = ",".join(filter(None, ("loop", mounted)))
            mount = ["mount", "-o", options, str(image), str(place)]
            if subprocess.run(mount, capture_output=True, check=False).returncode:
                pytest.skip("mounting a file system is not allowed here")
            places.append(place)
        one, two = places
        yield one, two
    finally:
        for place in places:
            subprocess.run(["umount", str(place)], check=True)


def of_places(verdict: dict[str, Any]) -> dict[str, str]:
    """Threat → what was seen, of those that places raise."""
    [contrast] = verdict["contrasts"]
    return {each["name"]: each["seen"] for each in contrast["threats"] if each["name"] in OF_PLACES}


def test_directories_of_one_file_system_are_drawn_and_left_empty(start: Start, home: Path) -> None:
    for name in ("one", "two"):
        (home / name).mkdir(mode=0o755)
    keys = (f"control.directory={home}/one", f"arm.directory={home}/two")
    weighing = start("record", "aa", *QUICK, *(word for key in keys for word in ("--set", key)))
    assert weighing.end() == 0, weighing.said
    assert "arms' files are drawn over them" in weighing.said
    plan = read_recorded(Record(weighing.record)).plan
    assert plan.places_drawn
    assert {place.data.directory for place in plan.places.values()} == {
        str(home / "one"), str(home / "two")
    }  # fmt: skip
    assert of_places(weighing.verdict) == {}
    assert [*(home / "one").iterdir(), *(home / "two").iterdir()] == []


def test_two_file_systems_are_weighed_as_they_are(
    start: Start, file_systems: tuple[Path, Path]
) -> None:
    one, two = file_systems
    keys = (
        f"control.directory={one}", f"arm.directory={two}", f"arm.wal_directory={one}",
        "arm.settings.full_page_writes=off", "layout=slices",
    )  # fmt: skip
    words = [word for key in keys for word in ("--set", key)]
    weighing = start("record", "full-page-writes", *QUICK, *words, "--set", "budget.epochs=8")
    assert weighing.end() == 0, weighing.said
    assert "each arm's files stay in its own place" in weighing.said
    verdict, plan = weighing.verdict, read_recorded(Record(weighing.record)).plan
    [arm] = plan.arms[1:]
    assert not plan.places_drawn
    assert plan.places[arm].log is not None
    [of_one], [of_two] = (plan.places[name].data.devices for name in plan.arms)
    assert of_one != of_two
    assert "noatime" in plan.places[arm].data.options
    seen = of_places(verdict)
    assert set(seen) == set(OF_PLACES)
    assert arm in seen["pages may be torn"]
    assert {"directory", "wal_directory"} <= {
        name for name, *_ in verdict["differences"]["declared"]
    }
    assert verdict["differences"]["undeclared"] == []
    assert {path.name for place in (one, two) for path in place.iterdir()} == {"lost+found"}
