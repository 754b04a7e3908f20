"""A command loads only the heavy modules that it uses; help texts and the version load none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.conftest import unpack
from steelyard.cli.commands import COMMANDS, module_of
from thinned import thinned

HEAVY = (
    *("numpy", "scipy", "scipy.stats", "scipy.optimize", "ruptures", "psycopg", "pydantic", "rich"),
    *("jinja2", "markupsafe", "pandas", "pyarrow", "optuna", "pglast", "ray", "pymysql"),
)
"""Each takes between a fiftieth of a second and a second of processor time."""
STORY = ("steelyard.weigh", "steelyard.running.world", "steelyard.report.page")
"""What weighs and draws: half a second of our own modules."""
PARSER = {"pydantic"}
"""What typer imports to convert the values of options."""
PAGES = {"jinja2", "markupsafe", "numpy"}
"""What pages are made with."""
SPECIAL = {"scipy"}
"""Of scipy, special functions alone: scipy.stats takes as long as all the rest."""
JUDGED = {"numpy", "markupsafe", *SPECIAL}
"""What judges numbers, and words that the report has too."""

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


@thinned("arguments", [[], *([name] for name in COMMANDS)], 4, ids=" ".join)
def test_a_help_text_loads_no_heavy_module_and_no_other_command(arguments: list[str]) -> None:
    own = {module_of(name) for name in arguments}
    commands = tuple(module_of(name) for name in COMMANDS)
    found = loaded(COMMAND, ["steelyard", *arguments, "--help"], (*HEAVY, *commands))
    assert found <= own


@thinned(
    ("arguments", "may_load"),
    [
        (["studies"], PARSER),
        (["workloads", "list"], PARSER),
        (["engines", "list"], PARSER),
        (["drive", "-b", "list"], PARSER),
        (["weigh", "no such study"], PARSER),
        (["weigh"], PARSER),
        (["weigh", "checksums", "--set", "no.such=1"], PARSER),
        (["weigh", "checksums", "--fail-if", "worse:2%"], PARSER),
        (["weigh", "checksums", "-f", "./no such script.sql"], PARSER),
        (["weigh", "checksums", "--from", "./no such place"], PARSER),
        (["weigh", "settings"], PARSER),
        (["weigh", "checksums", "--budget", "30"], PARSER),
        (["weigh", "checksums", "--set", "workload.clients=0"], PARSER),
        (["weigh", "builds", "--control", "./none", "--arm", "./no"], PARSER),
        (["weigh", "--resume", "no such record"], PARSER),
        (["calibrate", "--budget", "3"], PARSER),
        (["doctor", "--seconds", "0.1", "--no-write"], PARSER),
        (["reproduce"], PARSER),
        (["tune", "--memory", "8"], PARSER),
        (["fleet", "--records", "no such folder"], PARSER | {"numpy"}),
        (["serve", "--records", "no such folder"], PARSER | PAGES),
        (["judge", "no such file"], PARSER),
        (["report", "no such record"], PARSER),
        (["weigh", "checksums", "--record", "/usr"], PARSER),
        (["scrub", "no such cluster"], PARSER),
        (["checksums", "no such cluster"], PARSER),
        (["history", "list", "--records", "no such folder"], PARSER),
        (["site", "-o", "no such folder", "--records", "no such folder"], PARSER | PAGES),
    ],
    6,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_uses(arguments: list[str], may_load: set[str]) -> None:
    story = () if may_load >= PAGES or arguments[0] == "report" else STORY
    found = loaded(COMMAND, ["steelyard", *arguments], (*HEAVY, *story), statuses=(1, 2, 3))
    assert found <= may_load


@pytest.mark.parametrize(
    "arguments",
    [["weigh", "settings"], ["weigh", "aa", "--budget", "30"], ["weigh", "aa", "--record", "/usr"]],
    ids=" ".join,
)
def test_an_early_refusal_of_weigh_loads_no_adapter_of_an_engine(arguments: list[str]) -> None:
    names = ("steelyard.engines.postgres.intake.running", "steelyard.engines.adapters", *STORY)
    assert loaded(COMMAND, ["steelyard", *arguments], names, statuses=(2, 3)) == set()


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept record in a folder of records."""
    folder = tmp_path_factory.mktemp("records")
    return unpack("checksums", folder)


@thinned(
    ("arguments", "may_load"),
    [
        (["history", "list", "--records", "{records}"], PARSER),
        (["history", "export", "{records}/x.csv", "--records", "{records}"], PARSER),
        (["fleet", "--records", "{records}"], PARSER | {"numpy"}),
        (["site", "-o", "{records}/pages", "--records", "{records}"], PARSER | PAGES | SPECIAL),
        (["judge", "{records}/checksums"], PARSER | {"numpy", "markupsafe"}),
        (["judge", "{records}/numbers.csv", "--unit", "ms"], PARSER | JUDGED),
    ],
    1,
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_command_that_reads_results_loads_only_what_it_uses(
    record: Path, arguments: list[str], may_load: set[str]
) -> None:
    rows = "".join(f"{10 + n % 7 / 10},{11 + n % 5 / 10}\n" for n in range(20))
    (record.parent / "numbers.csv").write_text(f"a,b\n{rows}")
    words = [word.format(records=record.parent) for word in arguments]
    assert loaded(COMMAND, ["steelyard", *words]) <= may_load


def test_importing_the_package_loads_nothing_and_reading_a_record_only_what_it_uses(
    record: Path,
) -> None:
    names = (*HEAVY, "typer", *STORY)
    assert loaded("import steelyard", ["a"], ("steelyard.api", "steelyard.record", *names)) == set()
    assert loaded(f"import steelyard; steelyard.read({str(record)!r}).slices", ["a"], names) <= {
        "pydantic"
    }


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


@pytest.mark.long
def test_the_rule_sees_heavy_modules() -> None:
    assert loaded("import numpy", ["a"]) == {"numpy"}
