"""Help and the driver start without numpy and scipy, which cost a second of processor time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy")

ASK = """
import json, sys
sys.argv[:] = json.loads({arguments!r})
try:
    {action}
except SystemExit as ended:
    assert not ended.code, ended
print("\\n" + json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""


def heavy_modules(action: str, arguments: list[str]) -> list[str]:
    """Which heavy modules an interpreter of its own has loaded after `action`."""
    code = ASK.format(arguments=json.dumps(arguments), action=action, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    """The socket directory of a running server."""
    from own_cache import own_server

    with own_server("18") as instance:
        yield Path(instance.address.host)


COMMAND = "from steelyard.cli.app import main; main()"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["weigh", "--help"], ["drive", "--help"], ["studies"]],
    ids=" ".join,
)
def test_asking_for_help_does_not_pay_for_arithmetic(arguments: list[str]) -> None:
    assert heavy_modules(COMMAND, ["steelyard", *arguments]) == []


@pytest.mark.postgres
@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "words"])
def test_driving_does_not_pay_for_arithmetic(socket: Path, form: list[str]) -> None:
    script = socket.parent / "one.sql"
    script.write_text("SELECT 1;\n")
    target = f"host={socket} port=5432 user=postgres dbname=postgres"
    drive = ["steelyard", "drive", target, "-f", str(script), "-c", "2", "-T", "0.1", *form]
    assert heavy_modules(COMMAND, drive) == []


def test_the_driver_process_does_not_pay_for_arithmetic() -> None:
    assert heavy_modules("import steelyard.driver.process", ["process"]) == []


def test_the_rule_sees_heavy_modules() -> None:
    assert heavy_modules("import numpy", ["a"]) == ["numpy"]
