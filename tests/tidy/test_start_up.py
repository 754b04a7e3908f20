"""A command loads only the heavy modules that it uses; help texts and the version load none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.cli.commands import COMMANDS, module_of

HEAVY = ("numpy", "scipy", "ruptures", "psycopg", "pydantic", "rich", "jinja2", "markupsafe")
"""Each takes between a fiftieth of a second and a second of processor time."""
PARSER = {"pydantic"}
"""What typer imports to convert the values of options."""
PAGES = {"jinja2", "markupsafe", "numpy"}
"""What pages are made with."""

ASK = """
import json, sys
sys.argv[:] = json.loads({arguments!r})
try:
    {action}
except SystemExit as ended:
    assert ended.code in {statuses!r} or not ended.code, ended
print("\\n" + json.dumps([name for name in {names!r} if name in sys.modules]))
"""
COMMAND = "from steelyard.cli.app import main; main()"


def loaded(
    action: str,
    arguments: list[str],
    names: tuple[str, ...] = HEAVY,
    statuses: tuple[int, ...] = (),
) -> set[str]:
    """Which of the modules `names` a new interpreter has loaded after `action`."""
    code = ASK.format(
        arguments=json.dumps(arguments), action=action, names=names, statuses=statuses
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    """The socket directory of a running server."""
    from own_cache import own_server

    with own_server("18") as instance:
        yield Path(instance.address.host)


def test_the_version_does_not_load_the_parser() -> None:
    assert loaded(COMMAND, ["steelyard", "--version"], ("typer", *HEAVY)) == set()


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_a_help_text_loads_no_heavy_module_and_no_other_command(arguments: list[str]) -> None:
    own = {module_of(name) for name in arguments}
    commands = tuple(module_of(name) for name in COMMANDS)
    found = loaded(COMMAND, ["steelyard", *arguments, "--help"], (*HEAVY, *commands))
    assert found <= own


@pytest.mark.parametrize(
    ("arguments", "may_load"),
    [
        (["studies"], PARSER),
        (["workloads", "list"], PARSER),
        (["engines", "list"], PARSER),
        (["drive", "-b", "list"], PARSER),
        (["weigh", "no such study"], PARSER),
        (["judge", "no such file"], PARSER | {"numpy"}),
        (["report", "no such record"], PARSER | {"jinja2", "markupsafe"}),
        (["scrub", "no such cluster"], PARSER),
        (["checksums", "no such cluster"], PARSER),
        (["history", "list", "--records", "no such folder"], PARSER),
        (["site", "-o", "no such folder", "--records", "no such folder"], PARSER | PAGES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_uses(arguments: list[str], may_load: set[str]) -> None:
    assert loaded(COMMAND, ["steelyard", *arguments], statuses=(2, 3)) <= may_load


@pytest.mark.postgres
@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "words"])
def test_driving_loads_only_what_it_uses(socket: Path, form: list[str]) -> None:
    script = socket.parent / "one.sql"
    script.write_text("SELECT 1;\n")
    target = f"host={socket} port=5432 user=postgres dbname=postgres"
    drive = ["steelyard", "drive", target, "-f", str(script), "-c", "2", "-T", "0.1", *form]
    assert loaded(COMMAND, drive) <= PARSER


def test_the_driver_process_loads_no_heavy_module() -> None:
    assert loaded("import steelyard.driver.process", ["process"]) == set()


def test_the_rule_sees_heavy_modules() -> None:
    assert loaded("import numpy", ["a"]) == {"numpy"}
