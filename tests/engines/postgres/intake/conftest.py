"""Gives the tests of intake somebody's stopped server, made once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.original import Original
from steelyard.engines.account import choose_account
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
