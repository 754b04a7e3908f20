"""Where the servers and client libraries of others are that `.ci/interop` installs."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

FOLDER = "STEELYARD_INTEROP"


def installed(*parts: str) -> Path:
    """A file below the folder; skips the test where it is missing."""
    folder = os.environ.get(FOLDER)
    if not folder:
        pytest.skip(f"{FOLDER} names no folder: `.ci/interop` fills one")
    path = Path(folder).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not in the folder that {FOLDER} names: see .ci/interop")
    return path


def program(name: str) -> str:
    """The path of a program; skips the test where it is missing."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin:/usr/local/go/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    """A port of loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
