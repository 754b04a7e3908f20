"""Gives the tests of the history a folder of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from history.made import DAY, keep_record


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """An empty folder of records."""
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


@pytest.fixture
def keep(records: Path) -> Callable[..., Path]:
    """Keeps one record of a study, on a day of March 2026: `keep(3, effect=0.01)`."""

    def make(day: int, **options: Any) -> Path:
        study = options.get("study", "checksums")
        return keep_record(records / study / DAY.format(day=day), **{"seed": day, **options})

    return make
