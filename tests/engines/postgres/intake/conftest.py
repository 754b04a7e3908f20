"""Gives the tests of intake somebody's stopped server, made once, and a slot to take it into."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.original import Original
from steelyard.engines.account import choose_account
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.selection import find_postgres


def original_at(home: Path, version: str = "18") -> Original:
    """Somebody's server, not made yet."""
    account = choose_account()
    engine = find_postgres(version)
    sockets = home / "theirs"
    account.make_directory(sockets)
    build = engine._build  # its library path is known to it alone
    return Original(build.bindir, build.environment, account, sockets / "data", sockets)


@pytest.fixture(scope="session")
def theirs() -> Iterator[Original]:
    """Filled, configured, stopped cleanly; its log and a tablespace lead elsewhere by links."""
    home = Path(tempfile.mkdtemp(prefix="syt-", dir="/tmp"))
    home.chmod(0o711)
    try:
        original = original_at(home)
        original.make("--no-data-checksums", f"--waldir={original.sockets / 'log'}")
        space = original.sockets / "space"
        original.account.make_directory(space)
        with original.running("wal_level=logical"):
            original.fill(space)
            original.prepare_transaction()
        original.configure()
        yield original
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def slot(slot_of: Callable[[int], Slot]) -> Iterator[Slot]:
    """A slot whose data directory is free, and is again afterwards."""
    free = slot_of(7)
    shutil.rmtree(free.path / "data", ignore_errors=True)
    free.path.mkdir(exist_ok=True, mode=0o711)
    yield free
    shutil.rmtree(free.path, ignore_errors=True)
