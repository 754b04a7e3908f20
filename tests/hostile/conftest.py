"""Gives hostile inputs a place, files that must not change, and a steelyard to meet them."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from own_cache import open_directory, own_cache
from steelyard.cli.app import _run

SECRET = "TOP-SECRET-OF-THE-CALLER"


@dataclass(frozen=True)
class Ended:
    """A call of the program that has ended."""

    status: int
    output: str
    """Standard output and standard error."""


Call = Callable[..., Ended]
Run = Callable[..., str]


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A directory that every account may pass through."""
    with open_directory() as home:
        yield home


@pytest.fixture
def cache() -> Iterator[Path]:
    """A cache of this test alone."""
    with own_cache() as root:
        yield root


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the caller, in a directory that no other account may enter."""
    home = tmp_path / "caller"
    home.mkdir(mode=0o700)
    file = home / "victim"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def steelyard(tmp_path: Path) -> Call:
    """Calls the program in a directory of its own: steelyard("weigh", ..., limit_s=60)."""

    def call(*words: str, limit_s: float = 120, environment: dict[str, str] | None = None) -> Ended:
        command = [sys.executable, "-m", "steelyard", *words]
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(errors="replace"))

    return call


def fingerprint(path: Path) -> dict[str, str]:
    """Kind, mode, owner and content of a file, or of everything below a directory, by name."""
    names = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]
    return {str(name.relative_to(path)): _state(name) for name in names}


def _state(path: Path) -> str:
    status = path.lstat()
    content = ""
    if stat.S_ISREG(status.st_mode) and status.st_size < 1 << 30:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    return f"{status.st_mode:o} {status.st_uid} {status.st_size} {content}"


@pytest.fixture
def untouched() -> Callable[..., AbstractContextManager[None]]:
    """Fails where a path, or anything below it, is otherwise after the block than before."""

    @contextmanager
    def guard(*paths: Path) -> Iterator[None]:
        before = {path: fingerprint(path) for path in paths}
        yield
        assert {path: fingerprint(path) for path in paths} == before

    return guard


@pytest.fixture
def token() -> str:
    """Unlike every other text on this machine."""
    return f"Zq{secrets.token_hex(8)}"


@pytest.fixture
def run(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """Calls the program in this process, in a directory of its own; what it printed."""

    def called(*words: str) -> str:
        (tmp_path / "at").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / "at")
        monkeypatch.setattr(sys, "argv", ["steelyard", *words])
        handler = signal.getsignal(signal.SIGINT)
        try:
            _run()
        except SystemExit:
            pass
        finally:
            signal.signal(signal.SIGINT, handler)
        printed = capfd.readouterr()
        return printed.out + printed.err

    return called
