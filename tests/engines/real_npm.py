"""Builds from the real npm, for tests that need what the bundle lacks."""

from __future__ import annotations

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.added import add_published
from steelyard.model.errors import EngineError

NOWHERE = ("reaches no registry", "npm is not installed", "is published for architecture")
"""What an error says where npm cannot bring a build, and nothing is wrong with Steelyard."""


def fetch(version: str) -> str:
    """Add the npm build of a version and give its name; skips the test where npm brings none."""
    try:
        return add_published(version, choose_account(), open_cache(), lambda _: None).name
    except EngineError as error:
        if not any(words in error.primary for words in NOWHERE):
            raise
        pytest.skip(f"npm brings no build: {error.primary}")
