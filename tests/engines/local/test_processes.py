"""What processes transferred is counted where the kernel shows it, and else not known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.account import Account
from steelyard.engines.local import processes
from steelyard.engines.local.processes import transferred

OURSELVES = Account("", os.geteuid(), os.getegid())
GONE = 2**22 + 1


def test_bytes_of_a_process_are_those_that_it_read_and_wrote(tmp_path: Path) -> None:
    before = transferred([os.getpid()], OURSELVES)
    (tmp_path / "file").write_bytes(bytes(100_000))
    (tmp_path / "file").read_bytes()
    after = transferred([os.getpid(), GONE], OURSELVES)
    assert before is not None
    assert after is not None
    assert after[2] - before[2] >= 100_000


def test_a_kernel_without_the_files_does_not_show_what_was_transferred() -> None:
    assert transferred([GONE], OURSELVES) is None


def test_files_that_no_account_may_read_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    def call(_: Account, work: Callable[[], Any]) -> Any:
        return work()

    monkeypatch.setattr(processes, "open", refuse, raising=False)
    monkeypatch.setattr(Account, "call", call)
    assert transferred([os.getpid()], OURSELVES) is None
