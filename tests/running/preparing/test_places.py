"""Places of the user's are opened or refused with what to type, and drawn only where alike."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from own_cache import open_directory, own_run
from steelyard.engines.registry import Run
from steelyard.evaluation.threats.inspection import keeps_pages_whole
from steelyard.model.errors import EngineError, SteelyardError, StudyError
from steelyard.running.preparing import places
from steelyard.running.preparing.places import OpenPlaces, open_places
from steelyard.running.world import LocalEngines
from steelyard.study.reaching.replication import Replication
from steelyard.study.study import Study
from steelyard.telemetry import devices
from steelyard.telemetry.devices import handed_on
from story.asked import study_of
from story.scripted import ScriptedWorld


class Engines(LocalEngines):
    """Slots and places of a run, without builds."""

    def __init__(self, run: Run) -> None:
        super().__init__(None, lambda: run)


@pytest.fixture
def run() -> Iterator[Run]:
    with own_run() as made:
        yield made


@pytest.fixture
def place() -> Iterator[Path]:
    with open_directory() as made:
        yield made


def opened(run: Run, study: Study) -> OpenPlaces:
    laboratory = ScriptedWorld(run.directory).laboratory
    object.__setattr__(laboratory, "engines", Engines(run))
    return open_places(study, laboratory)


def placed(control: Path | None = None, arm: Path | None = None, **arm_keys: str) -> Study:
    """A study whose arms are in these places."""
    of_arm = {"directory": str(arm)} if arm else {}
    return study_of(
        control={"name": "on", **({"directory": str(control)} if control else {})},
        arms=[{"name": "off", "checksums": False, **of_arm, **arm_keys}],
    )


def mounted(monkeypatch: pytest.MonkeyPatch, **by_folder: dict[str, str]) -> None:
    """File systems as the kernel would say them, by a folder of the path."""

    def filesystem(path: Path) -> dict[str, str]:
        named = (own for folder, own in by_folder.items() if folder in Path(path).parts)
        return {
            "mount": "/",
            "type": "ext4",
            "device": "/dev/x",
            "options": "rw",
            **next(named, {}),
        }

    monkeypatch.setattr(places, "filesystem", filesystem)


def test_places_of_one_file_system_are_alike_and_drawn(run: Run, place: Path) -> None:
    for name in ("one", "two"):
        (place / name).mkdir(mode=0o755)
    both = opened(run, placed(place / "one", place / "two"))
    assert both.files.drawn
    assert [both.files.number("off", slot) for slot in (0, 1)] == [0, 1]
    assert both.files.data(0) == run.places[0]
    assert both.plan["on"].data.directory == str(place / "one")
    assert "drawn" in both.note
    assert opened(run, placed(place / "one", place / "one")).files.drawn


def test_the_cache_beside_a_place_of_its_file_system_is_alike(run: Run, place: Path) -> None:
    one = opened(run, placed(None, place))
    assert one.files.drawn
    assert one.files.data(0) is None
    assert one.files.data(1) == run.places[0]


@pytest.mark.parametrize(
    "unlike", [{"type": "xfs"}, {"options": "rw,noatime"}], ids=["type", "options"]
)
def test_places_that_differ_stay_with_their_arms(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, unlike: dict[str, str]
) -> None:
    for name in ("one", "two"):
        (place / name).mkdir(mode=0o755)
    mounted(monkeypatch, two=unlike)
    both = opened(run, placed(place / "one", place / "two"))
    assert not both.files.drawn
    assert {both.files.number("off", slot) for slot in (0, 1)} == {1}
    assert {both.files.number("on", slot) for slot in (0, 1)} == {0}
    assert "each arm's files stay" in both.note


def test_places_whose_files_are_stored_otherwise_stay_with_their_arms(
    run: Run, place: Path
) -> None:
    for name in ("one", "two"):
        (place / name).mkdir(mode=0o755)
    if not hand_on(place / "two", "noatime"):
        pytest.skip("this file system has no attributes, or they are not ours to set")
    assert handed_on(place / "two") == ("noatime",)
    both = opened(run, placed(place / "one", place / "two"))
    assert not both.files.drawn
    assert "noatime" in both.plan["off"].data.options.split(",")
    assert "each arm's files stay" in both.note
    hand_on(place / "one", "noatime")
    assert opened(run, placed(place / "one", place / "two")).files.drawn


def test_pages_may_tear_where_a_directory_is_written_in_place(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(monkeypatch, **{place.name: {"type": "btrfs", "options": "rw,relatime"}})
    assert keeps_pages_whole(opened(run, placed(place, place)).plan["on"].data)
    monkeypatch.setattr(places, "handed_on", lambda _: ("nocow",))
    assert not keeps_pages_whole(opened(run, placed(place, place)).plan["on"].data)


def test_where_the_files_of_standbys_are_is_told(run: Run, place: Path) -> None:
    study = placed(place, place)
    assert "standbys" not in opened(run, study).note
    arm = study.arms[0].model_copy(update={"replication": Replication()})
    told = opened(run, study.model_copy(update={"arms": (arm,)})).note
    assert "standbys' files stay in the cache: " in told


def hand_on(directory: Path, attribute: str) -> bool:
    """chattr +A and the like; False: it cannot be set here."""
    bit = next(bit for bit, name in devices._FLAGS.items() if name == attribute)
    opened = os.open(directory, os.O_RDONLY)
    try:
        fcntl.ioctl(opened, 0x40086602, struct.pack("q", bit))
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


def test_a_log_of_its_own_for_one_arm_is_no_like_place(run: Run, place: Path) -> None:
    one = opened(run, placed(place, place, wal_directory=str(place)))
    assert not one.files.drawn
    assert one.files.logs.keys() == {"off"}
    assert one.plan["off"].log is not None


def test_private_directories_are_removed_with_the_weighing(run: Run, place: Path) -> None:
    opened(run, placed(place, place, wal_directory=str(place)))
    assert len(list(place.iterdir())) == 3
    (run.places[0] / "data0").mkdir()
    (place / "steelyard-mine").mkdir()
    run.close()
    assert [kept.name for kept in place.iterdir()] == ["steelyard-mine"]


def test_a_study_without_places_says_nothing_and_knows_its_file_system(run: Run) -> None:
    none = opened(run, study_of())
    assert (none.note, run.places) == ("", ())
    assert none.plan["on"].data.type


@pytest.mark.parametrize(
    ("make", "words", "hint"),
    [
        (lambda place: None, "No such file or directory", "mkdir -p"),
        (lambda place: place.write_text(""), "it is not a directory", ""),
        (lambda place: _made(place, 0o777), "other accounts may write into it", "chmod"),
    ],
    ids=["missing", "file", "open to all"],
)
def test_what_is_no_place_is_refused_with_what_to_type(
    run: Run, place: Path, make: object, words: str, hint: str
) -> None:
    assert callable(make)
    make(place / "wrong")
    with pytest.raises(SteelyardError, match=words) as refused:
        opened(run, placed(place / "wrong"))
    assert hint in (refused.value.hint or "")
    assert run.places == ()


def _made(place: Path, mode: int) -> None:
    place.mkdir()
    place.chmod(mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has directories of another account")
def test_a_place_of_another_account_is_refused(run: Run, place: Path) -> None:
    (place / "theirs").mkdir()
    os.chown(place / "theirs", run.account.uid, run.account.gid)
    with pytest.raises(SteelyardError, match="belongs to account") as refused:
        opened(run, placed(place / "theirs"))
    assert "chown" in (refused.value.hint or "")
    below = place / "theirs" / "ours"
    below.mkdir()
    with pytest.raises(SteelyardError, match="others could put another in its place"):
        opened(run, placed(below))


def test_a_sticky_place_is_its_owners(run: Run, place: Path) -> None:
    _made(place / "shared", 0o1777)
    assert opened(run, placed(place / "shared")).files.directories
    if os.geteuid() == 0:
        _made(place / "theirs", 0o1777)
        os.chown(place / "theirs", run.account.uid, run.account.gid)
        with pytest.raises(SteelyardError, match="belongs to account"):
            opened(run, placed(place / "theirs"))


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's servers are its own")
def test_a_place_that_the_servers_account_cannot_enter_is_refused(run: Run, place: Path) -> None:
    _made(place / "closed", 0o700)
    with pytest.raises(EngineError, match="as account") as refused:
        opened(run, placed(place / "closed"))
    assert "chmod a+x" in (refused.value.hint or "")
    run.close()
    assert list((place / "closed").iterdir()) == []


def test_memory_is_no_disk(run: Run) -> None:
    with pytest.raises(SteelyardError, match="it is on tmpfs, in memory"):
        opened(run, placed(Path("/dev/shm")))


def test_a_place_that_is_mounted_read_only_is_refused(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(monkeypatch, **{place.name: {"options": "ro,relatime"}})
    with pytest.raises(SteelyardError, match="is mounted read-only") as refused:
        opened(run, placed(place))
    assert "remount,rw" in (refused.value.hint or "")


def test_a_place_without_room_is_refused_before_anything_is_copied(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = opened(run, placed(place, place))
    templates = {"on": (tmp_path,), "off": (tmp_path,)}
    one.require_room(templates)
    monkeypatch.setattr(places, "LOG_BYTES", 1 << 50)
    with pytest.raises(EngineError, match="too little room"):
        one.require_room(templates)


def test_a_log_elsewhere_is_for_engines_that_can_have_one(run: Run, place: Path) -> None:
    study = placed(arm=place, wal_directory=str(place)).model_copy(update={"engine": "mysql"})
    with pytest.raises(StudyError, match="cannot have"):
        opened(run, study)
