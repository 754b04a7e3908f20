"""Clusters of every version from 12 to 17 are scrubbed, sound and damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.real_npm import fetch
from integrity.conftest import execute, page_of, plant
from own_cache import own_cache
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

pytestmark = [pytest.mark.postgres, pytest.mark.long, pytest.mark.by_version]

VERSIONS = ("12", "13", "14", "15", "16", "17")


@pytest.fixture(scope="module")
def npm_cache() -> Iterator[Path]:
    """A cache of its own for the builds that npm brings."""
    with own_cache() as root:
        yield root


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cluster_of_each_version_is_sound_and_its_damage_is_found(
    npm_cache: Path, version: str
) -> None:
    engine = find_postgres(fetch(version))
    with open_run(open_cache(), engine.account) as run:
        cluster = engine.create(run.directory / "data", protection="checksums")
        cluster.start(run.slot(0), {"fsync": "off"})
        text = "CREATE TABLE t AS SELECT i, repeat('x', 200) FROM generate_series(1, 2000) i"
        ((path,),) = execute(cluster, text, "VACUUM t", "SELECT pg_relation_filepath('t')")
        cluster.stop()
        sound = scrub(ScrubRequest(cluster.directory), lambda *_: None)
        assert (sound.bad, sound.skipped, sound.layout.major) == ((), (), int(version))
        assert sound.blocks > 900
        file = cluster.directory / path
        plant(file, 3 * 8192 + 6000, bytes(b ^ 0xFF for b in page_of(file, 3)[6000:6004]))
        found = scrub(ScrubRequest(cluster.directory), lambda *_: None)
        assert [(f.path, f.block) for f in found.bad] == [(path, 3)]
