"""`steelyard judge` as a user calls it: files, options, words, JSON, pictures and statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Steelyard
from steelyard.cli.app import main
from steelyard.cli.views.judgement_view import render_judgement, row_plot
from steelyard.engines.defer_signals import ENDING
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.source import open_source

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = GOLDEN / "numbers"
PUBLISHED = Path(__file__).parents[2] / "docs" / "reproductions"


def shown(path: Path, width: int, **asked: str) -> str:
    """What is printed of a file, without a process."""
    judgement = judge_numbers(compare([(None, read_sheet(open_source(path)))], Options(**asked)))
    return render_judgement(judgement, width)


@pytest.mark.parametrize(
    ("name", "file", "unit", "width"),
    [
        ("judge_storm_100", "page-verification.csv", "s", 100),
        ("judge_storm_50", "page-verification.csv", "s", 50),
        ("judge_once_80", "once-256-clients.csv", "", 80),
    ],
)
def test_a_judgement_prints_as_the_golden_file_shows(
    name: str, file: str, unit: str, width: int
) -> None:
    found = shown(PUBLISHED / file, width, **({"unit": unit} if unit else {})) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("STEELYARD_GOLDEN") == "write":
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [10, 50, 63, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_but_commands(width: int) -> None:
    for file, unit in (("page-verification.csv", "s"), ("once-256-clients.csv", "")):
        for line in shown(PUBLISHED / file, width, **({"unit": unit} if unit else {})).splitlines():
            assert len(line) <= max(width, 50) or "steelyard weigh" in line


def test_the_rows_fit_any_number_of_them() -> None:
    for count in (1, 2, 9, 76, 77, 1_000, 100_000):
        values = np.exp(np.random.default_rng(count).normal(size=count)).tolist()
        lines = row_plot({"off": values, "on": values[: count // 2 + 1]}, [count // 2], "ms", 76)
        assert max(map(len, lines)) <= 76 or count < 10
        assert lines[-1].rstrip().endswith(str(count))
        assert sum("●" in line for line in lines) >= 2


def test_equal_values_and_many_arms_are_drawn_too() -> None:
    lines = row_plot({f"arm {n}": [5.0, 5.0] for n in range(12)}, [], "", 60)
    assert any("and 4 more arms" in line for line in lines)


@dataclass(frozen=True)
class CliResult:
    """What the program said and how it ended."""

    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., CliResult]


@pytest.fixture
def steelyard_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """The program in this process, in `tmp_path`: a process of its own would pay for arithmetic
    every time."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> CliResult:
        monkeypatch.setattr(sys, "argv", ["steelyard", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # as the interpreter does at its end
        for number, handler in before.items():
            signal.signal(number, handler)
        said = capsys.readouterr()
        return CliResult(int(ended.value.code or 0), said.out, said.err)

    return call


@pytest.mark.long
def test_a_judgement_loads_no_library_that_takes_seconds(two_columns: Path) -> None:
    loads = (
        "import sys; from steelyard.cli.app import main\n"
        f"sys.argv = ['steelyard', 'judge', {str(two_columns)!r}, '--unit', 'ms', '--json']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('scipy.stats', 'ruptures') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.fixture
def two_columns(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    shared = np.exp(rng.normal(0, 0.1, 20))
    rows = np.column_stack([shared, shared * 1.05]) * np.exp(rng.normal(0, 0.005, (20, 2)))
    path = tmp_path / "runs.csv"
    path.write_text("off,on\n" + "\n".join(f"{a:.4f},{b:.4f}" for a, b in rows) + "\n")
    return path


@pytest.mark.long
def test_a_judgement_in_words_has_verdict_chart_rows_and_doubts(
    steelyard: Steelyard, two_columns: Path
) -> None:
    said = steelyard("judge", "runs.csv", "--unit", "ms")
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    read = "  read: CSV, a column an arm, 20 rows an arm; on against off; judged: "
    assert said.stdout.startswith(read)
    assert "▼ SLOWER\non is slower than off by " in said.stdout
    for part in ("├", "rows in their order", "off, ms", "paired by row", "- observational:"):
        assert part in said.stdout
    random = steelyard("judge", "runs.csv", "--unit", "ms", "--order", "random")
    assert "doubts: none of the known threats was seen" in random.stdout


def test_json_is_one_object_with_the_contrasts_of_a_weighing(
    steelyard_here: Call, two_columns: Path
) -> None:
    said = steelyard_here("judge", "runs.csv", "--lower-is-better", "--json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    (contrast,) = found["contrasts"]
    assert (contrast["arm"], contrast["control"], contrast["verdict"]) == ("on", "off", "slower")
    assert contrast["low_percent"] < 5 < contrast["high_percent"]
    turned = json.loads(
        steelyard_here("judge", "runs.csv", "--lower-is-better", "--json", "--control", "on").stdout
    )
    assert turned["contrasts"][0]["verdict"] == "faster"


def test_a_margin_and_pairs_are_as_asked(steelyard_here: Call, two_columns: Path) -> None:
    wide = json.loads(
        steelyard_here("judge", "runs.csv", "--unit", "ms", "--margin", "10%", "--json").stdout
    )
    assert wide["contrasts"][0]["verdict"] == "equivalent"
    assert wide["contrasts"][0]["nonzero"] is True
    apart = json.loads(
        steelyard_here("judge", "runs.csv", "--unit", "ms", "--unpaired", "--json").stdout
    )
    assert apart["contrasts"][0]["details"]["paired"] is False
    assert apart["contrasts"][0]["verdict"] == "inconclusive"


def test_a_picture_is_an_svg_file_that_stands_alone(
    steelyard_here: Call, two_columns: Path, tmp_path: Path
) -> None:
    said = steelyard_here("judge", "runs.csv", "--unit", "ms", "-o", "p.svg")
    assert said.stdout.rstrip().endswith("picture  p.svg")
    root = ET.parse(tmp_path / "p.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = (tmp_path / "p.svg").read_text()
    assert "on against off: slower" in text
    assert text.count('class="dot arm0') == 20
    assert 'href="' not in text


def test_files_of_arms_and_standard_input(
    steelyard_here: Call, steelyard: Steelyard, tmp_path: Path
) -> None:
    for name, rates in (("off", (10, 11)), ("on", (12, 13))):
        for number, rate in enumerate(rates):
            (tmp_path / f"{name}{number}.txt").write_text(f"tps = {rate}.0 (without initial)\n")
    arms = ["off=off0.txt", "on=on0.txt", "off=off1.txt", "on=on1.txt"]
    found = json.loads(steelyard_here("judge", *arms, "--json").stdout)
    assert "rows as given, in no order of time" in steelyard_here("judge", *arms).stdout
    assert "rows in their order" in (
        steelyard_here("judge", *arms, "--order", "alternating").stdout
    )
    assert [arm["rows"] for arm in found["arms"]] == [2, 2]
    (tmp_path / "a=b.csv").write_text("off,on\n1,2\n3,4\n")
    whole = steelyard_here("judge", "a=b.csv", "--unit", "s", "--json")
    assert json.loads(whole.stdout)["sources"] == ["a=b.csv"]
    empty = steelyard("judge", "-")  # the tests give no input
    assert empty.stderr.startswith('error: "standard input": the file is empty')


def test_a_record_is_shown_by_its_own_verdict_and_not_judged_again(
    steelyard_here: Call, two_columns: Path, tmp_path: Path
) -> None:
    epochs = [{"d": 0.1, "throughput": {"on": 100.0, "off": 110.0 + n}} for n in range(10)]
    told = {
        **{"arm": "off", "control": "on", "metric": "throughput", "verdict": "invalid"},
        **{"estimate_percent": 10.0, "low_percent": 9.0, "high_percent": 11.0},
        "sentence": "invalid: nothing can be said of off against on: balance's ledger",
        "threats": [{"name": "balance's ledger", "seen": "E is 400", "cause": "c", "advice": "a"}],
        "details": {"epochs": epochs, "margin_percent": 2.0},
    }
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "verdict.json").write_text(
        json.dumps({"study": "checksums", "contrasts": [told]})
    )
    said = steelyard_here("judge", "record")
    assert said.stdout.startswith(
        "✕ INVALID\nnothing can be said of off against on: balance's ledger"
    )
    assert "- balance's ledger: E is 400" in said.stdout
    assert "not judged again" in said.stdout
    found = json.loads(steelyard_here("judge", "record", "--json").stdout)
    assert found["contrasts"] == [told]
    for option in (["--margin", "2%"], ["--metric", "tps"], ["-o", "p.svg"], ["--unpaired"]):
        refused = steelyard_here("judge", "record", *option)
        assert refused.returncode == 2
        assert "is a verdict of Steelyard: it is shown, not judged again" in refused.stderr
    among = steelyard_here("judge", "a=record", "b=runs.csv", "--unit", "ms")
    assert "a verdict of Steelyard is no list of numbers" in among.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.csv"], 'could not read "missing.csv": no such file or directory'),
        (["runs.csv"], "cannot tell whether higher or lower numbers are better"),
        (["runs.csv", "--unit", "ms", "--order", "upwards"], 'unrecognized order: "upwards"'),
        (["runs.csv", "--unit", "ms", "--margin", "1"], 'invalid margin: "1"'),
        (["runs.csv", "--unit", "ms", "--margin", "0%"], 'invalid margin: "0%"'),
        (["runs.csv", "--unit", "ms", "--column", "arm"], 'invalid column: "arm"'),
        (["runs.csv", "--unit", "ms", "--format", "xml"], 'unrecognized format: "xml"'),
        (["runs.csv", "--unit", "ms", "--control", "x"], 'there is no arm "x"'),
        (["=runs.csv"], 'invalid file of an arm: "=runs.csv"'),
        (["."], 'could not read ".": it is a directory'),
        (["runs.csv", "--format", "json"], '"runs.csv" line 1, column 1: this is not JSON'),
        (["runs.csv", "--format", "pgbench"], '"runs.csv" line 1, column 1: no complete summary'),
        (["runs.csv", "--clients", "0"], "invalid value for"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_the_house_manner(
    steelyard_here: Call, two_columns: Path, arguments: list[str], said: str
) -> None:
    answer = steelyard_here("judge", *arguments)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("given", "said", "typed"),
    [
        ("off=runs/", 'could not read "runs/": it is a directory', "'off=%s ' runs/*)"),
        ("on=r*.csv", 'could not read "r*.csv": a shell expands no pattern', "'on=%s ' r*.csv)"),
    ],
)
def test_several_files_of_an_arm_are_asked_for_one_by_one(
    steelyard_here: Call, two_columns: Path, tmp_path: Path, given: str, said: str, typed: str
) -> None:
    (tmp_path / "runs").mkdir()
    answer = steelyard_here("judge", given, "b=runs.csv")
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"error: {said}")
    assert f"steelyard judge $(printf {typed} …" in answer.stderr


def test_a_picture_that_cannot_be_written_is_said(
    refused: Callable[..., str], two_columns: Path
) -> None:
    said = refused("judge", "runs.csv", "--unit", "ms", "-o", "missing/p.svg", status=3)
    assert said.startswith('error: could not write the picture "missing/p.svg": no such file')


@pytest.mark.parametrize("name", sorted(path.name for path in NUMBERS.iterdir()))
def test_every_real_output_is_judged_beside_itself(name: str) -> None:
    sheet = read_sheet(open_source(NUMBERS / name))
    arms = [(None, sheet)] if name == "hyperfine.json" else [("a", sheet), ("b", sheet)]
    said = render_judgement(judge_numbers(compare(arms, Options())), 100)
    assert "doubts" in said
    assert "SLOWER" not in said
    assert "FASTER" not in said
