"""The action's script: it closes where it should, stays open where it is not told, says what the
runner can see. `steelyard` is a double here."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Callable
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from steelyard.cli.command_line import load_command
from steelyard.cli.options.arm_options import require_unlike
from steelyard.study.read import read_study

Gate = Callable[..., int]
STEELYARD = """\
import json, sys
words = sys.argv[1:]
with open({calls!r}, "a") as file:
    file.write(json.dumps(words) + "\\n")
equal = "equal-arms" in words[words.index("--record") + 1]
if equal:
    print(json.dumps({{"contrasts": [{equal!r}]}}))
    raise SystemExit({equal_status})
open(words[words.index("--summary") + 1], "w").write("### builds: {verdict}\\n")
if {status} > 1:
    raise SystemExit({status})
print(json.dumps({{"contrasts": [{contrast!r}]}}).replace("'", '"'))
raise SystemExit({status})
"""
KEYS = {
    "arm.settings.jit", "arm.settings.work_mem", "control.settings.work_mem", "workload.scale",
}  # fmt: skip
EQUAL = {
    "low_percent": -1.5, "high_percent": 1.25, "nonzero": False,
    "details": {"smallest_visible_percent": 2.14},
}  # fmt: skip


@pytest.fixture
def weighed(gate: ModuleType, tmp_path: Path) -> Callable[..., int]:
    """Weighs by a double that reads `verdict` and ends with `status`."""

    def call(
        *words: str, verdict: str = "equivalent", status: int = 0, forecast: float | None = None,
        equal: dict[str, Any] = EQUAL, equal_status: int = 0, out: str = "out",
    ) -> int:  # fmt: skip
        double = tmp_path / "double.py"
        contrast = {"verdict": verdict, "forecast_seconds": forecast}
        double.write_text(
            "null = None\n" + STEELYARD.format(
                calls=str(tmp_path / "calls"), equal=equal, equal_status=equal_status,
                verdict=verdict, status=status, contrast=contrast,
            )
        )  # fmt: skip
        return int(gate.main([
            "weigh", "--control", "base", "--arm", "head", "--out", str(tmp_path / out),
            "--known", str(tmp_path / "known"), "--program", f"{sys.executable} {double}", *words,
        ]))  # fmt: skip

    return call


def gate_outputs(tmp_path: Path, out: str = "out") -> tuple[dict[str, Any], str]:
    return json.loads((tmp_path / out / "gate.json").read_text()), (
        tmp_path / out / "gate.md"
    ).read_text()


def calls(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


@pytest.mark.parametrize(
    ("verdict", "status", "ends", "outcome"),
    [
        ("slower", 1, 1, "closed"),
        ("slower", 0, 0, "passed"),
        ("equivalent", 0, 0, "passed"),
        ("inconclusive", 0, 0, "open"),
        ("invalid", 0, 0, "open"),
    ],
)
def test_it_closes_only_where_a_condition_holds(
    weighed: Gate, tmp_path: Path, verdict: str, status: int, ends: int, outcome: str
) -> None:
    assert weighed(verdict=verdict, status=status) == ends
    assert gate_outputs(tmp_path)[0]["outcome"] == outcome


def test_what_went_wrong_ends_it_as_steelyard_ended(weighed: Gate, tmp_path: Path) -> None:
    assert weighed(status=3) == 3
    assert not (tmp_path / "out" / "gate.json").exists()


def test_a_weighing_that_fails_leaves_no_verdict_of_an_earlier_one(
    gate: ModuleType, weighed: Gate, tmp_path: Path
) -> None:
    """It would be kept, commented and agreed on as that of this push."""
    out = tmp_path / "out"
    assert weighed(status=0) == 0
    assert weighed(status=3) == 3
    assert not [one for one in ("gate.json", "gate.md") if (out / one).exists()]
    assert weighed("--hosts", "2", verdict="slower", status=1) == 0
    assert gate.main(["agree", str(out), "--hosts", "1", "--out", str(tmp_path / "agreed")]) == 1
    assert gate_outputs(tmp_path, "agreed")[0]["outcome"] == "closed"
    assert gate.main(["agree", str(tmp_path), "--out", str(tmp_path / "agreed")]) == 2
    assert not [*(tmp_path / "agreed").iterdir()]


def test_inconclusive_says_how_many_more_minutes_would_settle_it(
    weighed: Gate, tmp_path: Path
) -> None:
    weighed(verdict="inconclusive", forecast=130.0)
    assert "about 3 more minutes would settle it" in gate_outputs(tmp_path)[1]
    weighed(verdict="inconclusive", forecast=None)
    assert "more time would hardly settle it" in gate_outputs(tmp_path)[1]


def test_the_first_run_on_a_kind_of_runner_weighs_equal_arms_and_later_ones_do_not(
    weighed: Gate, tmp_path: Path
) -> None:
    load = ("--set", "workload.scale=1\n\nworkload.clients=2\n")
    weighed(*load)
    first, second = calls(tmp_path)
    assert first[first.index("--control") + 1] == first[first.index("--arm") + 1] == "base"
    assert second[second.index("--arm") + 1] == "head"
    for call, keys in ((first, ["arm.name=the-same-again"]), (second, [])):
        assert [one for flag, one in itertools.pairwise(call) if flag == "--set"] == [
            "workload.scale=1", "workload.clients=2", *keys,
        ]  # fmt: skip
    assert "--fail-if" not in first
    assert "read equal arms as -1.5 % to +1.2 %; it sees ±2.1 %" in gate_outputs(tmp_path)[1]
    weighed(*load)
    assert len(calls(tmp_path)) == 3
    assert "it sees ±2.1 %" in gate_outputs(tmp_path)[1]
    [kept] = (tmp_path / "known").glob("builds-*.json")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "kind": "64 × another"}))
    weighed(*load)
    assert len(calls(tmp_path)) == 5


def test_what_equal_arms_read_is_said_of_the_load_that_they_had_alone(
    weighed: Gate, tmp_path: Path
) -> None:
    """Of gates with a study in common, and of one whose keys or whose study were edited."""
    study = tmp_path / "own.toml"
    study.write_text("scale = 1")
    small, large = ("--study", str(study), "--set", "a=1"), ("--study", str(study), "--set", "a=9")
    for visible, words, is_weighed in (
        (1.0, small, True),
        (9.0, large, True),
        (1.0, small, False),
        (1.0, (*small[:3], "a=1\narm.settings.jit=off"), False),  # what the arm alone has
        (9.0, large, False),
        (4.0, small, True),
    ):
        if visible == 4.0:
            study.write_text("scale = 4")
        before = len(calls(tmp_path)) if (tmp_path / "calls").exists() else 0
        details = {"details": {"smallest_visible_percent": visible}}
        weighed(*words, equal={**EQUAL, **details})
        assert len(calls(tmp_path)) - before == 1 + is_weighed
        assert f"it sees ±{visible} %" in gate_outputs(tmp_path)[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--control", "/opt/base/bin"),
        ("--study", "versions", "--control", "18"),
        ("--control", "/opt/base/bin", "--set", "control.name=base\narm.name=head"),
        ("--control", "/opt/base/bin", "--set", "control.settings.work_mem=8MB"),
    ],
)
def test_the_program_takes_the_equal_arms_that_it_is_given(
    weighed: Gate, tmp_path: Path, words: tuple[str, ...]
) -> None:
    weighed(*words)
    first = calls(tmp_path)[0]
    options = load_command("weigh").make_context("weigh", first[1:]).params
    changes = list(options["overrides"])
    if options["control"]:
        sides = ("control", "arm")
        changes += [f'{side}.bindir="{options[side]}"' for side in sides]
    study = read_study(options["study"], changes)
    require_unlike(study)
    assert len(study.equals) == 1


def test_equal_arms_have_no_key_that_the_arm_alone_has(weighed: Gate, tmp_path: Path) -> None:
    weighed("--set", "arm.settings.jit=off\ncontrol.settings.work_mem=8MB\nworkload.scale=1")
    first, second = calls(tmp_path)
    for call, keys in (
        (first, ["control.settings.work_mem=8MB", "workload.scale=1", "arm.settings.work_mem=8MB"]),
        (second, ["arm.settings.jit=off", "control.settings.work_mem=8MB", "workload.scale=1"]),
    ):
        assert [one for one in call if one.partition("=")[0] in KEYS] == keys


def test_a_runner_that_tells_equal_arms_apart_or_cannot_weigh_them_is_named(
    weighed: Gate, tmp_path: Path
) -> None:
    weighed(equal_status=3)
    assert "could not be weighed on this runner (status 3)" in gate_outputs(tmp_path)[1]
    assert not list(tmp_path.glob("known/*"))
    weighed(equal={**EQUAL, "low_percent": None, "nonzero": True})
    assert "unbounded to +1.2 %: **it told them apart**" in gate_outputs(tmp_path)[1]


def test_versions_are_keys_and_conditions_are_lines(weighed: Gate, tmp_path: Path) -> None:
    weighed("--study", "versions", "--fail-if", "slower:2%\nslower:1%\n", "--control", "16")
    call = calls(tmp_path)[-1]
    assert call[:2] == ["weigh", "versions"]
    assert "control.version=16" in call
    assert call.count("--fail-if") == 2
    assert "--control" not in call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-if", ""), 'fail-if is empty, so nothing would close the gate; write "slower:2%"'),
        (("--fail-if", " \n\n"), "fail-if is empty"),
        (("--hosts", "0"), "hosts is 0: how many must agree, 1 or more"),
        (("--hosts", "-2"), "hosts is -2"),
    ],
)
def test_a_gate_that_could_not_close_is_refused_before_anything_is_weighed(
    weighed: Gate, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    """An expression of a workflow that is not set is an empty text."""
    assert weighed(*words, verdict="slower", status=0) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "calls").exists()


def test_no_hosts_close_no_gate(gate: ModuleType, weighed: Gate, tmp_path: Path) -> None:
    assert weighed(verdict="equivalent") == 0
    found_by = str(tmp_path / "out")
    assert gate.main(["agree", found_by, "--hosts", "0", "--out", str(tmp_path / "agreed")]) == 2
    assert not (tmp_path / "agreed").exists()


@pytest.mark.parametrize(
    ("outcomes", "ends", "joined"),
    [
        (("closed", "closed"), 1, "closed"),
        (("closed", "passed"), 0, "open"),
        (("closed", "open"), 0, "open"),
        (("closed",), 0, "open"),
        (("passed",), 0, "open"),
        (("passed", "open"), 0, "open"),
        (("passed", "passed"), 0, "passed"),
    ],
)
def test_of_two_hosts_both_must_agree(
    gate: ModuleType, weighed: Gate, tmp_path: Path, outcomes: tuple[str, ...], ends: int,
    joined: str,
) -> None:  # fmt: skip
    words = {"closed": ("slower", 1), "passed": ("equivalent", 0), "open": ("inconclusive", 0)}
    for number, one in enumerate(outcomes):
        verdict, status = words[one]
        alone = weighed("--hosts", "2", verdict=verdict, status=status, out=f"host-{number}")
        assert alone == 0, "one host alone closes nothing"
    folders = [str(tmp_path / f"host-{number}") for number in range(len(outcomes))]
    assert gate.main(["agree", *folders, "--hosts", "2", "--out", str(tmp_path / "out")]) == ends
    kept, page = gate_outputs(tmp_path)
    assert kept["outcome"] == joined
    assert page.splitlines()[0].endswith(f"builds: {joined}")
    assert page.count("### builds: ") == len(outcomes)
    assert ("Only 1 of 2" in page) == (len(outcomes) == 1)


def test_a_host_without_a_verdict_is_named_and_the_gate_stays_open(
    gate: ModuleType, weighed: Gate, tmp_path: Path
) -> None:
    """What a weighing that could not be completed leaves has no gate.json."""
    assert weighed("--hosts", "2", verdict="slower", status=1, out="host-0") == 0
    assert weighed("--hosts", "2", status=3, out="host-1") == 3
    folders = [str(tmp_path / f"host-{number}") for number in range(2)]
    assert gate.main(["agree", *folders, "--hosts", "2", "--out", str(tmp_path / "out")]) == 0
    kept, page = gate_outputs(tmp_path)
    assert (kept["outcome"], kept["without_a_verdict"]) == ("open", ["host-1"])
    assert "Only 1 of 2 came to a verdict, so it stays open. Without a verdict: host-1." in page


def test_without_any_verdict_there_is_nothing_to_agree_on(
    gate: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "host-0").mkdir()
    for folders in ([], [str(tmp_path / "host-0")]):
        assert gate.main(["agree", *folders, "--out", str(tmp_path)]) == 2
        assert "no host has left a verdict" in capsys.readouterr().err


def test_a_study_that_is_a_file_is_weighed_and_what_it_leaves_has_a_name_without_slashes(
    gate: ModuleType, weighed: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = "bench/x.toml"
    assert weighed("--study", study) == 0
    assert gate_outputs(tmp_path)[0]["name"] == study
    assert len(list((tmp_path / "known").glob("bench-x.toml-*.json"))) == 1
    weighed("--study", study)
    assert len(calls(tmp_path)) == 3, "this runner is known for it"
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert gate.main(["name", "--name", study, "--host", "2"]) == 0
    told = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert re.fullmatch(r"steelyard-bench-x\.toml-[0-9a-f]{6}--2", told["artefact"])
    assert fnmatch(told["artefact"], told["pattern"])


def test_no_gate_takes_what_another_one_left(gate: ModuleType) -> None:
    names = ["foo", "foo-bar", "foo--bar", "foo/bar", "foo bar", "foo-", "Foo", "builds", "/", "é"]
    left = {name: f"steelyard-{gate.slug(name)}--1" for name in names}
    for name in names:
        pattern = f"steelyard-{gate.slug(name)}--*"
        assert [other for other in names if fnmatchcase(left[other], pattern)] == [name]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", one) for one in left.values())


def test_summary_and_output_of_the_job_are_written(
    weighed: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    weighed(verdict="inconclusive")
    assert (tmp_path / "output").read_text() == "outcome=open\n"
    assert (tmp_path / "summary").read_text() == gate_outputs(tmp_path)[1]
