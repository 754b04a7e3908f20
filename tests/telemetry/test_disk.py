"""Room and kind of a disk are known before anything is written to it."""

from __future__ import annotations

from pathlib import Path

import psutil

from steelyard.telemetry.capacity import filesystem, space

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


def test_a_machine_without_mountinfo_says_nothing(tmp_path: Path) -> None:
    assert filesystem(tmp_path, tmp_path) == {}
