"""Runs the real program as a user does: its own process, a directory and a cache of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Said = subprocess.CompletedProcess[str]
Steelyard = Callable[..., Said]


@pytest.fixture(scope="session")
def program_cache() -> Iterator[Path]:
    """A cache root that any account can reach, for every call of the program in these tests."""
    home = Path(tempfile.mkdtemp(prefix="sytest"))
    home.chmod(0o711)
    yield home
    shutil.rmtree(home)


@pytest.fixture
def steelyard(tmp_path: Path, program_cache: Path) -> Steelyard:
    """Calls the program in `tmp_path`; `environment` is laid over ours."""

    def call(*arguments: str, environment: dict[str, str] | None = None) -> Said:
        own = {"STEELYARD_CACHE": str(program_cache), "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=tmp_path,
            env={**os.environ, **own, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture
def refused(steelyard: Steelyard, tmp_path: Path) -> Callable[..., str]:
    """What the program says to wrong usage; it says it once, in its manner, and leaves nothing."""

    def call(*arguments: str, status: int = 2) -> str:
        before = sorted(tmp_path.rglob("*"))
        said = steelyard(*arguments)
        assert said.returncode == status, said.stderr
        assert said.stdout == ""
        assert said.stderr.startswith("error: ")
        assert said.stderr.count("error: ") == 1
        assert "Traceback" not in said.stderr
        assert sorted(tmp_path.rglob("*")) == before, "a command that failed left files"
        return said.stderr

    return call
