"""Rehearses upgrades of originals, which stay as they were."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from engines.postgres.intake.original import Original
from engines.postgres.upgrade.rich_cluster import fingerprint
from steelyard.engines.postgres.builds.find import discovered
from steelyard.engines.postgres.upgrade.outcome import UpgradeOutcome
from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest, rehearse


def silent(_: str) -> None:
    """No report."""


def rehearsed(
    original: Original, version: str, cache: Path, *ways: str, **about: object
) -> UpgradeOutcome:
    """The outcome; nothing is left of it, and nothing was written to the original."""
    before = fingerprint(original.sockets)
    request = UpgradeRequest(original.directory, version, ways or ("copy",))
    outcome = rehearse(replace(request, **about), silent)  # type: ignore[arg-type]
    assert fingerprint(original.sockets) == before
    assert [*(cache / "run").glob(f"*-{os.getpid()}-*/owner.json")] == []
    return outcome


def has(version: str) -> None:
    """Skip, by name, where a version is not on this machine."""
    if not any(each.answers(version) for each in discovered()):
        pytest.skip(f"PostgreSQL {version} is not on this machine")
