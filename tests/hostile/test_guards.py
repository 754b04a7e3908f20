"""The guards of this folder see what they are there for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

Guard = Callable[..., AbstractContextManager[None]]


def _written(file: Path) -> None:
    file.write_text("other")


def _linked(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/null")


@pytest.mark.parametrize("change", [_written, _linked, Path.unlink, lambda file: file.chmod(0o755)])
def test_a_change_is_noticed(
    change: Callable[[Path], object], untouched: Guard, victim: Path
) -> None:
    with pytest.raises(AssertionError), untouched(victim.parent):
        change(victim)


def test_a_look_is_none(untouched: Guard, victim: Path) -> None:
    with untouched(victim.parent):
        victim.read_text()
