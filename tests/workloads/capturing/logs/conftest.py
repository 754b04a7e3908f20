"""A folder for the logs of drawn tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For all examples of a file: each writes its log over the last one's. A folder for each takes
    longer the more there are."""
    return tmp_path_factory.mktemp("log")
