"""Gives the tests of memory a real cap, where this process has the right, and a kernel on paper."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from own_cache import open_directory
from steelyard.engines.account import choose_account
from steelyard.engines.capabilities.memory import MemoryCap
from steelyard.engines.memory.rights import choose_cap
from steelyard.model.errors import EngineError

MB = 1 << 20


@pytest.fixture
def place() -> Iterator[Path]:
    """The directory of a weighing, with a slot in it."""
    with open_directory() as made:
        (made / "slot0").mkdir()
        yield made


@pytest.fixture
def real_cap(place: Path) -> Callable[[int], MemoryCap]:
    """A cap of so many bytes that the kernel really holds."""

    def cap(size_bytes: int) -> MemoryCap:
        try:
            return choose_cap(size_bytes, choose_account(), place)
        except EngineError as refused:
            pytest.skip(f"no right to make a control group: {refused.detail}")

    return cap


@pytest.fixture
def paper_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root directory whose groups, as recorded of version 2, are files: a new group has those
    that the kernel would give it."""
    root = tmp_path / "root"
    files = {
        "proc/self/cgroup": "0::/user.slice/session-3.scope\n",
        "sys/fs/cgroup/cgroup.procs": "1\n",
        "sys/fs/cgroup/cgroup.subtree_control": "cpu io memory pids\n",
        "sys/fs/cgroup/user.slice/cgroup.subtree_control": "memory pids\n",
        "sys/fs/cgroup/user.slice/session-3.scope/cgroup.subtree_control": "\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    def mkdir(path: str | Path) -> None:
        Path(path).mkdir()
        for name in ("cgroup.procs", "memory.max", "memory.swap.max", "memory.current"):
            (Path(path) / name).write_text("max\n" if name.endswith("max") else "")

    monkeypatch.setattr("steelyard.engines.memory.group.mkdir", mkdir)
    monkeypatch.setattr("steelyard.engines.memory.group.rmdir", shutil.rmtree)
    return root


@pytest.fixture
def fake_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemd-run, the first on PATH, that notes its words and becomes the command."""
    home = tmp_path / "programs"
    home.mkdir()
    said = tmp_path / "said"
    program = home / "systemd-run"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}\n'
        'while [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    return said
