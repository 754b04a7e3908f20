"""Compares a release's tag with the version of the package and of its crates: exit status 1 where
one differs.

    python3 .ci/version.py v0.1.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PROGRAM = "python/steelyard/__init__.py"


def versions(root: Path) -> dict[str, str]:
    """File → the version that it names."""
    package = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    crates = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    program = (root / _PROGRAM).read_text(encoding="utf-8")
    return {
        "pyproject.toml": package["project"]["version"],
        "Cargo.toml": crates["workspace"]["package"]["version"],
        _PROGRAM: "".join(re.findall(r'^__version__ = "(.*)"', program, re.MULTILINE)),
    }


def main(tag: str, root: Path = ROOT) -> int:
    """Name what differs."""
    wrong = {file: version for file, version in versions(root).items() if f"v{version}" != tag}
    for file, version in wrong.items():
        print(f'error: tag "{tag}" is not the version of {file}, {version}', file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
