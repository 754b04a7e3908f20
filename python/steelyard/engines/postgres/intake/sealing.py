"""Gives the pages of a stopped copy their checksums, where the original had none."""

from __future__ import annotations

import os

from steelyard._core import read_control, write_checksums
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CHECKSUMS, CONTROL_FILE, unreadable_control
from steelyard.model.errors import EngineError


def seal(cluster: Cluster) -> bool:
    """Write the checksums of all pages where there are none, and switch verification on; whether
    there were none. EngineError: a file cannot be sealed."""
    number = cluster.identity.version_number
    major = str(number // 10000) if number >= 100000 else f"{number // 10000}.{number // 100 % 100}"

    def write() -> bool:
        control = read_control(cluster.directory / CONTROL_FILE)
        if control["checksum_version"]:
            return False
        write_checksums(
            cluster.directory,
            f"PG_{major}_{control['catalog_version']}",
            int(control["block_size"]),
            int(control["segment_blocks"]),
            len(os.sched_getaffinity(0)),
        )
        return True

    try:
        written = bool(cluster.account.call(write))
    except OSError as error:
        raise EngineError(
            f'could not write the checksums of "{error.filename}": {error.strerror}'
        ) from error
    except ValueError as error:
        raise unreadable_control(cluster.directory, error) from error
    if written:
        cluster.protect(CHECKSUMS)
    return written
