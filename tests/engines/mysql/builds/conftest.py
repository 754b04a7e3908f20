"""Gives the tests of builds a machine without installed servers."""

from __future__ import annotations

import pytest

from steelyard.engines.mysql.builds import find


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a package of this machine installed is found."""
    monkeypatch.setattr(find, "SYSTEM_PLACES", ())
