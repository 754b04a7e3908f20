"""Scrubbing and estimating import no package for statistics, schemas, connections or terminals."""

from __future__ import annotations

import subprocess
import sys

from thinned import thinned

UNUSED = ("numpy", "scipy", "pydantic", "psycopg", "rich", "jinja2", "psutil", "tarfile")
PRINT_LOADED = "import sys, {module}; print(*(n for n in {names!r} if n in sys.modules))"


def loaded(module: str, names: tuple[str, ...]) -> list[str]:
    """Which packages an interpreter of its own has loaded after importing a module."""
    code = PRINT_LOADED.format(module=module, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@thinned(
    "module",
    [
        "steelyard.integrity.scrub.scrub",
        "steelyard.cli.views.scrubbed",
        "steelyard.integrity.checksum_cost",
        "steelyard.integrity.drill.drill",
    ],
    1,
)
def test_a_module_loads_no_package_before_it_uses_it(module: str) -> None:
    assert loaded(module, UNUSED) == []


def test_the_check_sees_a_loaded_package() -> None:
    assert loaded("numpy", UNUSED) == ["numpy"]
