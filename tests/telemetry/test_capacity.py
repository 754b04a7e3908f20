"""Which processors may be used, and how much room a file system has."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.telemetry.capacity import allowed_processors, filesystem, siblings_last, space

MOUNTS = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:28 / {deep} rw,noatime shared:7 - tmpfs memory rw,size=4k
31 27 0:29 / {deep} rw - xfs /dev/vdb ro
"""


def test_a_path_that_does_not_exist_yet_has_the_room_of_its_ancestor(tmp_path: Path) -> None:
    assert space(tmp_path / "a" / "b").total_bytes == psutil.disk_usage(str(tmp_path)).total
    assert 0 < space(tmp_path).free_bytes <= space(tmp_path).total_bytes


def test_the_longest_mount_wins_and_of_equals_the_last(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS.format(deep=deep))
    assert filesystem(deep / "data", tmp_path) == {
        "mount": str(deep),
        "type": "xfs",
        "device": "/dev/vdb",
        "options": "rw,ro",
    }
    assert filesystem(tmp_path, tmp_path)["type"] == "ext4"


@pytest.mark.parametrize("name", ["a b", "tab\tx", "line\nx", "back\\slash", "back\\040", "ü"])
def test_a_mount_is_known_whatever_letters_its_place_has(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    written = str(place)
    for letter in "\\ \t\n":  # as seq_path of the kernel has them; backslashes first
        written = written.replace(letter, f"\\{ord(letter):03o}")
    (tmp_path / "proc/self").mkdir(parents=True)
    lines = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:28 / {written} rw - xfs /dev/vdb rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(lines)
    assert filesystem(place, tmp_path)["mount"] == str(place)


@pytest.mark.parametrize(
    "name",
    [b"stick-\xe4", b"a\rb", *(f"a{letter}b".encode() for letter in "\x85\u00a0\u2028\u3000")],
)
def test_a_mount_of_other_letters_hides_none(tmp_path: Path, name: bytes) -> None:
    """Names of places are bytes: a stick of another system's, or white space of Unicode."""
    place = tmp_path / os.fsdecode(name)
    place.mkdir()
    (tmp_path / "proc/self").mkdir(parents=True)
    lines = [
        b"27 1 254:0 / / rw - ext4 /dev/vda rw",
        b"30 27 0:28 / " + os.fsencode(place) + b" rw,noatime - vfat  rw",
        b"31 27 0:29 / /run rw - tmpfs tmpfs rw",
    ]
    (tmp_path / "proc/self/mountinfo").write_bytes(b"\n".join(lines) + b"\n")
    assert filesystem(place, tmp_path) == {
        "mount": str(place), "type": "vfat", "device": "", "options": "rw,noatime,rw",
    }  # fmt: skip
    assert filesystem(tmp_path, tmp_path)["type"] == "ext4"


def test_a_machine_without_mountinfo_says_nothing(tmp_path: Path) -> None:
    assert filesystem(tmp_path, tmp_path) == {}


def test_second_threads_of_a_core_come_after_first_threads_of_all() -> None:
    core = {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}
    assert siblings_last([0, 1, 4, 5], core) == [0, 1, 4, 5]
    neighbours = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}
    assert siblings_last([0, 1, 2, 3], neighbours) == [0, 2, 1, 3]


@given(st.dictionaries(st.integers(0, 200), st.sampled_from(["a", "b", "c"]), min_size=1))
def test_no_processor_is_lost_or_doubled(core: dict[int, str]) -> None:
    assert sorted(siblings_last(list(core), core)) == sorted(core)


def test_only_what_the_affinity_mask_holds_is_allowed(tmp_path: Path) -> None:
    mask = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mask)})
        assert allowed_processors(tmp_path) == [min(mask)]
    finally:
        os.sched_setaffinity(0, mask)
    assert sorted(allowed_processors(tmp_path)) == sorted(mask)


def test_a_quota_of_half_a_processor_leaves_one(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    (group / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    assert len(allowed_processors(tmp_path)) == 1
