"""What is printed as the command that repeats a weighing can be pasted into a shell."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.command_line import load_command
from steelyard.cli.commands import judge
from steelyard.cli.options.address_options import with_own_workload
from steelyard.cli.options.weigh_options import repeating_command
from steelyard.cli.weighing import bisect, sweep, upgrade
from steelyard.cli.weighing.campaign import resumable_by
from steelyard.foreign.copies import refuse_namesakes
from steelyard.foreign.source import shell_word
from steelyard.history.entry import KnownBuild
from steelyard.history.trend import LevelStep, TrendPoint
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.report.answer.first_page import with_budget

WITHOUT = "user=app dbname=shop host=127.0.0.1 port=5432"
DSN = "host=127.0.0.1 port=5432 user=app dbname=shop"
WORDS = [
    "--set", 'workload.texts={ a = "SELECT 1; -- $HOME `id`" }', "--address", DSN,
    "--arm", "address=port=5433", "-f", "my script.sql@3",
    "--set", "arm.settings.search_path='a, b'",
    "--set", "arm.sql=SELECT E'\\n' || \"x\"", "--seed", "7",
]  # fmt: skip


def pasted(line: str) -> list[str]:
    """The words that a shell makes of a line."""
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, text=True
    )
    return done.stdout.split("\0")[:-1]


def test_the_command_of_a_weighing_can_be_pasted() -> None:
    command = repeating_command(["weigh", "sessions", *WORDS], 7)
    assert pasted(shlex.join(command)) == ["steelyard", "weigh", "sessions", *WORDS]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (["--address", f"{DSN} password=s3cret"], ["--address", WITHOUT]),
        (["--arm", f"address={DSN} password='s 3cret'"], ["--arm", f"address={WITHOUT}"]),
        (["--address=postgres://app:s3cret@h/shop"], None),
        (["--set", "arm.settings.primary_conninfo=password=s3cret"], None),
    ],
)
def test_the_command_is_pasted_without_secrets(typed: list[str], kept: list[str] | None) -> None:
    words = pasted(shlex.join(repeating_command(["weigh", "sessions", *typed], 7)))
    assert "3cret" not in " ".join(words)
    assert words[:3] == ["steelyard", "weigh", "sessions"]
    assert words[-2:] == ["--seed", "7"]
    assert kept is None or words[3:-2] == kept


def parsed(words: list[str]) -> None:
    """SystemExit or an error of the parser: the command line has no such command or option."""
    names = [*words]
    command = load_command(names.pop(0))
    while (further := getattr(command, "commands", {}).get(names[0])) is not None:
        command = further
        del names[0]
    command.make_context("x", names)


@pytest.mark.parametrize(
    "words",
    [
        ("weigh", "--resume", "records/a b"),
        ("calibrate", "--resume", "it's here"),
        ("history", "bisect", "--resume", "$HOME/x"),
        ("tune", "--resume", "a;b"),
        ("reproduce", "--resume", "records/reproduce/a b"),
        ("fleet", "run", "my matrix.toml", "-o", "a b", "--ray", "h:1"),
    ],
)
def test_what_goes_on_after_an_interruption_can_be_pasted(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in (KeyboardInterrupt(), SystemExit(143)):
        with pytest.raises(type(ending)), resumable_by(*words):
            raise ending
        line = capsys.readouterr().err.strip()
        assert pasted(line.removeprefix("go on: ")) == ["steelyard", *words]
    parsed([*words])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"bindir": "/my builds/a"}, {"bindir": "/b'/bin"}),
        ({"version": "17.0"}, {"version": "18.1"}),
        ({}, {}),
    ],
)
def test_what_a_step_in_a_trend_proposes_can_be_pasted(
    old: dict[str, str], new: dict[str, str]
) -> None:
    sides = []
    for build in (old, new):
        known = KnownBuild.model_validate(build)
        entry = SimpleNamespace(builds={"arm": known}, path="records/a b")
        point = SimpleNamespace(entry=entry, reading=SimpleNamespace(arm="arm"))
        sides.append(cast(TrendPoint, SimpleNamespace(point=point)))
    words = pasted(LevelStep(sides[0], sides[1], (6, 6), 3.0, 2.0, 4.0).settled_by)
    assert words[0] == "steelyard"
    assert [each for each in words if each.startswith(("/", "records"))] == (
        [*old.values(), *new.values()] if "bindir" in old else ["records/a b"] * (2 - 2 * len(old))
    )
    parsed(words[1:])


def of_an_upgrade(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def run(arguments: Sequence[str]) -> int:
        record = Path(arguments[-1])
        record.mkdir()
        (record / "plan.json").write_text("{}")
        return 3

    monkeypatch.setattr(upgrade, "run", run)
    with pytest.raises(SteelyardError) as refused:
        upgrade.weigh_own_work(["weigh", "upgrade"], folder, None)
    return str(refused.value.hint)


def of_files_of_an_arm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder.mkdir()
    with pytest.raises(UsageError) as refused:
        judge._refuse_several("its arm", str(folder))
    return str(refused.value.hint)


def of_files_without_an_arm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    with pytest.raises(UsageError) as refused:
        refuse_namesakes([f"{folder}/pg16.3.txt", f"{folder}/pg16.4.txt"])
    return str(refused.value.hint)


@pytest.mark.parametrize(
    ("proposed", "words"),
    [
        (of_an_upgrade, ["weigh", "--resume", "{}"]),
        (of_files_of_an_arm, ["judge", "its arm=FILE", "…"]),
        (of_files_without_an_arm, ["judge", "pg16.3={}/pg16.3.txt", "pg16.4={}/pg16.4.txt", "…"]),
    ],
)
@pytest.mark.parametrize("name", ["a b", "it's $HOME; `id`", 'the "old" one'])
def test_what_an_error_proposes_can_be_pasted(
    proposed: Callable[[Path, pytest.MonkeyPatch], str],
    words: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / name
    command = proposed(folder, monkeypatch).partition(": steelyard ")[2]
    assert pasted(command) == [word.replace("{}", str(folder)) for word in words]


def test_a_workload_that_is_left_out_is_named_as_a_shell_takes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_own_workload([], {"workload": {"name": "./our work"}})
    assert pasted(capsys.readouterr().err.rpartition(": ")[2]) == ["--set", "workload=./our work"]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_name_of_a_column_is_proposed_whole(name: str) -> None:
    assert shlex.split(shell_word(name)) == [name]


@given(
    words=st.lists(
        st.text(
            st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=0x2FFF), max_size=12
        ).map(lambda text: f"x.{text}"),
        max_size=4,
    )
)
def test_any_words_come_back(words: list[str]) -> None:
    kept = repeating_command(["weigh", "settings", "--seed", "1", *words], 1)
    assert shlex.split(shlex.join(kept)) == list(kept)


def test_the_command_of_a_sweep_can_be_pasted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans: list[Any] = []
    monkeypatch.setattr(sweep, "_go_on", lambda plan, *_, **__: plans.append(plan))
    swept = ["--sweep", "workload.clients=2,4"]
    command = repeating_command(["weigh", "settings", *WORDS, *swept], 7)
    changes = ["arm.settings.jit=off"]
    request = sweep.SweepRequest(
        "settings", swept[1], changes, False, 7, tmp_path / "sweep", None, command, False
    )
    sweep.begin_sweep(request)
    [plan] = plans
    assert pasted(plan.command) == list(command)


def test_the_command_of_a_search_can_be_pasted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans: list[Any] = []
    monkeypatch.setattr(bisect, "_search", lambda plan, *_, **__: plans.append(plan))
    along = "settings.random_page_cost=1,2,3,4"
    command = repeating_command(["history", "bisect", "settings", *WORDS, "--along", along], 7)
    fields = dict.fromkeys(bisect.BisectRequest.__dataclass_fields__)
    told = {"study": "settings", "changes": (), "along": along, "seed": 7, "command": command}
    request = bisect.BisectRequest(**{**fields, **told, "record": tmp_path / "search"})
    bisect.begin_bisect(request)
    [plan] = plans
    assert pasted(plan.command) == list(command)


def test_arms_that_are_swept_have_one_name_at_every_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans: list[Any] = []
    monkeypatch.setattr(sweep, "_go_on", lambda plan, *_, **__: plans.append(plan))
    key = "arm.settings.random_page_cost=1,2,3"
    request = sweep.SweepRequest(
        "settings", key, [], False, 7, tmp_path / "sweep", None, ("steelyard",), False
    )
    sweep.begin_sweep(request)
    [plan] = plans
    assert 'arm.name="arm"' in plan.changes
    assert not any(one.startswith("control.name") for one in plan.changes)


def test_what_to_type_next_is_the_command_with_a_longer_budget_and_another_seed() -> None:
    command = shlex.join(["steelyard", "weigh", "sessions", *WORDS, "--budget", "30s"])
    words = pasted(with_budget(command, "3m"))
    assert words[-2:] == ["--budget", "3m"]
    assert words.count("--budget") == 1
    assert "--seed" not in words
    assert DSN in words


@pytest.mark.parametrize(
    "length",
    [
        ["--set", "budget.measuring=2m"], ["--set=budget.measuring=2m"],
        ["--set", 'budget.cycles = "2m"', "--set=budget.turns=3m"],
    ],
)  # fmt: skip
def test_a_length_that_a_key_says_is_not_left_above_the_longer_budget(length: list[str]) -> None:
    """It counts more than --budget: the weighing would be as short again."""
    others = ["--set", "budget.epochs=12", "--set=workload.clients=4"]
    command = shlex.join(["steelyard", "weigh", "checksums", *length, *others])
    words = pasted(with_budget(command, "7m"))
    assert words == ["steelyard", "weigh", "checksums", *others, "--budget", "7m"]


@pytest.mark.parametrize(
    ("study", "counted", "stay"),
    [
        ("queries", [], False),
        ("checksums", ["--set", "budget.counted={each = 1, blocks = 12}"], False),
        ("checksums", [], True),
        ("sessions", [], True),
    ],
)
def test_so_many_epochs_of_executions_are_not_left_beside_a_longer_budget(
    study: str, counted: list[str], stay: bool
) -> None:
    """Both would be refused: the time says how many epochs there are."""
    epochs = ["--set", "budget.epochs=12"]
    command = ["steelyard", "weigh", study, *counted]
    longer = pasted(with_budget(shlex.join([*command, *epochs]), "7m"))
    assert longer == [*command, *(epochs if stay else []), "--budget", "7m"]


@pytest.mark.parametrize(("epochs", "stay"), [(2, False), (7, False), (8, True), (40, True)])
def test_epochs_that_are_too_few_for_a_verdict_are_not_what_comes_next(
    epochs: int, stay: bool
) -> None:
    """Longer ones would be too few again."""
    pinned = ["--set", f"budget.epochs={epochs}"]
    longer = pasted(with_budget(shlex.join(["steelyard", "weigh", "checksums", *pinned]), "7m"))
    assert longer == [
        "steelyard",
        "weigh",
        "checksums",
        *(pinned if stay else []),
        "--budget",
        "7m",
    ]
