"""Lists the files of the checkout once, for the rules that read them."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidy.syntax import forget

LEFT_OUT = {".git", ".venv", "target", "records", "build", "dist", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Tree:
    """The files of a checkout by their path from its root, in order."""

    root: Path
    paths: tuple[str, ...]

    def ending(self, *suffixes: str) -> Iterator[tuple[str, str]]:
        """(path, text) of every file that ends so."""
        for path in self.paths:
            if path.endswith(suffixes):
                yield path, (self.root / path).read_text(encoding="utf-8")

    def text(self, path: str) -> str:
        """The text of one file; empty when there is none."""
        found = self.root / path
        return found.read_text(encoding="utf-8") if found.is_file() else ""


@pytest.fixture(scope="package", autouse=True)
def trees_while_rules_read_them() -> Iterator[None]:
    """They have no circles: looking for garbage among them takes longer than parsing."""
    gc.disable()
    yield
    forget()
    gc.enable()


@pytest.fixture(scope="session")
def tree() -> Tree:
    root = Path(__file__).parents[2]
    return Tree(root, tuple(sorted(_known_to_git(root) or _walked(root))))


def _known_to_git(root: Path) -> list[str]:
    """Tracked files and new ones that are not ignored; none outside a git checkout."""
    ask = ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z"]
    try:
        answer = subprocess.run(
            [*ask, "--cached", "--others", "--exclude-standard"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    names = answer.stdout.decode().split("\0")
    return [name for name in dict.fromkeys(names) if name and (root / name).is_file()]


def _walked(root: Path) -> list[str]:
    found: list[str] = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in LEFT_OUT and not name.endswith("_cache")]
        found += [str((Path(folder) / name).relative_to(root)) for name in names]
    return [name for name in found if not name.endswith((".so", ".pyc"))]
