"""Unpacks the kept records: whole weighings made by earlier versions, as users have them."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KEPT = sorted(file.name.removesuffix(".tar.xz") for file in HERE.glob("*.tar.xz"))


def unpack(name: str, into: Path) -> Path:
    """The directory of a kept record; its archives hold plain files alone."""
    directory = into / name
    directory.mkdir()
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        for member in archive:
            source = archive.extractfile(member)
            assert source is not None
            (directory / member.name).write_bytes(source.read())
    return directory


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[str], Path]:
    """Unpacks a kept record by its name."""
    return lambda name: unpack(name, tmp_path)
