"""Gives the tests of builds an apt of their own, and a machine without installed servers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engines.mysql.fake_packages import FakeApt
from steelyard.engines.mysql.builds import apt, find


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    """An apt of our own, the first on PATH, on a Debian: no test asks the real one through it."""
    fake = FakeApt(tmp_path / "apt")
    fake.install()
    monkeypatch.setenv("PATH", f"{fake.home}:{os.environ['PATH']}")
    facts = {"ID": "debian", "NAME": "Debian GNU/Linux"}
    monkeypatch.setattr(apt, "distribution", facts.__getitem__)
    monkeypatch.setattr(apt, "DEBIAN", {})
    return fake


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a package of this machine installed is found."""
    monkeypatch.setattr(find, "SYSTEM_PLACES", ())
