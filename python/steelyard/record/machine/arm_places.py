"""Holds where the files of arms are, and what memory and disk they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from steelyard.record.frozen import Frozen


class DiskPlan(Frozen):
    """The rates that the disk of every arm's server is held to."""

    devices: tuple[str, ...]
    """By their names in /sys/class/block."""
    read_iops: int | None = None
    write_iops: int | None = None
    read_rate: int | None = None
    """Bytes a second."""
    write_rate: int | None = None

    @property
    def rates(self) -> Mapping[str, int]:
        """Those that are held."""
        every = self.model_dump(exclude={"devices"})
        return {name: value for name, value in every.items() if value is not None}


class MemoryPlan(Frozen):
    """The cap on the memory of every arm's server."""

    cap_bytes: int
    """Of shared buffers, backends and page cache together."""
    held_by: Literal["v1", "v2", "systemd-run"]
    """Control groups of version 1 or 2, or scopes of systemd."""
    disk: DiskPlan | None = None
    """None: its disk is as fast as it is."""


class FilesPlace(Frozen):
    """A directory for files of an arm, and the file system that it is on."""

    directory: str = ""
    """As the study names it; empty: in the cache."""
    mount: str = ""
    type: str = ""
    source: str = ""
    """What is mounted: a device, a pool, a server."""
    options: str = ""
    devices: tuple[str, ...] = ()
    """That it rests on in the end, by their names in /sys/class/block."""

    @property
    def words(self) -> str:
        """`"ext4 on /dev/sdb (noatime), /mnt/fast"`."""
        options = f" ({self.options})" if self.options else ""
        mount = f", {self.mount}" if self.mount else ""
        return f"{self.type or 'unknown'} on {self.source or 'nothing'}{options}{mount}"


class ArmPlace(Frozen):
    """Where the files of an arm are."""

    data: FilesPlace
    log: FilesPlace | None = None
    """None: in the data directory."""

    @property
    def words(self) -> str:
        """The file system of its data, and of its log where that is another."""
        log = "" if self.log is None else f"; its log: {self.log.words}"
        return f"{self.data.words}{log}"
