"""The trend of a question is one machine's line, and its steps are said in words."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from history.made import change_contrast
from steelyard.history.entry import KnownBuild
from steelyard.history.index import read_history
from steelyard.history.question import QuestionHistory, machines_of, questions_of
from steelyard.history.trend import (
    commit_of,
    read_commits,
    read_order,
    trend_of,
)
from steelyard.model.errors import UsageError
from thinned import thinned

Keep = Callable[..., Path]


def only_question(records: Path) -> QuestionHistory:
    [question] = questions_of(read_history(records).entries)
    return question


def test_a_step_is_found_where_the_level_changes_and_said_with_its_interval(
    keep: Keep, records: Path
) -> None:
    for day in range(1, 17):
        late = day > 9
        keep(day, effect=0.06 if late else 0.02, spread=0.004,
             arm_build={"bindir": f"/builds/{'new' if late else 'old'}/bin"})  # fmt: skip
    question = only_question(records)
    found = trend_of(question, machines_of(question)[0])
    [step] = found.steps
    assert step.after.place == "2026-03-10 12:00"
    assert step.rows == (9, 7)
    assert step.low < 4.1 < step.high
    assert step.sentence.startswith("a step at 2026-03-10 12:00: +")
    assert "chosen by looking" in step.sentence
    assert step.settled_by == (
        "steelyard weigh builds --control /builds/old/bin --arm /builds/new/bin"
    )
    assert found.to_json()["steps"][0]["weighings"] == [9, 7]


@pytest.mark.parametrize(
    ("late", "command"),
    [
        ("18.2", "versions --set control.version=18.1 --set arm.version=18.2"),
        ("18.1", "compare checksums/2026-03-09T120000Z checksums/2026-03-10T120000Z"),
    ],
)
def test_a_step_is_settled_by_versions_where_they_differ_else_by_its_two_records(
    late: str, command: str, keep: Keep, records: Path
) -> None:
    for day in range(1, 17):
        version = late if day > 9 else "18.1"
        effect = 0.06 if day > 9 else 0.02
        keep(day, effect=effect, spread=0.004, arm_build={"version": version, "bindir": ""})
    question = only_question(records)
    [step] = trend_of(question, machines_of(question)[0]).steps
    assert step.settled_by.endswith(command)


@thinned("kind", ["mysql", "mariadb", "sqlserver"], 1)
@pytest.mark.parametrize("directories", [("", ""), ("/opt/a/bin", "/opt/b/bin")])
def test_a_step_of_another_engine_is_settled_by_no_study_of_postgresql(
    kind: str, directories: tuple[str, str], keep: Keep, records: Path
) -> None:
    for day in range(1, 17):
        late = day > 9
        build = {"kind": kind, "version": "8.0.2" if late else "8.0.1", "bindir": directories[late]}
        keep(day, effect=0.06 if late else 0.02, spread=0.004, arm_build=build)
    question = only_question(records)
    [step] = trend_of(question, machines_of(question)[0]).steps
    assert shlex.split(step.settled_by) == [
        *("steelyard", "history", "compare"),
        *("checksums/2026-03-09T120000Z", "checksums/2026-03-10T120000Z"),
    ]


def test_without_a_step_it_says_so_and_with_few_weighings_that_it_did_not_look(
    keep: Keep, records: Path
) -> None:
    for day in range(1, 4):
        keep(day)
    question = only_question(records)
    machine = machines_of(question)[0]
    assert trend_of(question, machine).sentence == (
        "3 weighings from 2026-03-01 12:00 to 2026-03-03 12:00: steps are looked for from 12 on"
    )
    for day in range(4, 15):
        keep(day)
    assert trend_of(only_question(records), machine).sentence.endswith(": no step")


def test_invalid_verdicts_are_left_out_and_named(keep: Keep, records: Path) -> None:
    keep(1)
    change_contrast(keep(2), verdict="invalid")
    change_contrast(keep(3), estimate_percent=None, low_percent=None)
    question = only_question(records)
    found = trend_of(question, machines_of(question)[0])
    assert len(found.points) == 1
    assert [why for _, why in found.left_out] == [
        "its verdict is invalid",
        "it has no finite estimate",
    ]


def test_a_weighing_with_an_epoch_in_which_an_arm_did_no_work_is_left_out_and_named(
    keep: Keep, records: Path
) -> None:
    """Its estimate is that of the epochs that both survived."""
    keep(1)
    change_contrast(keep(2), epochs=9)  # of eight log ratios: the ninth is infinite
    found = trend_of(only_question(records), machines_of(only_question(records))[0])
    assert len(found.points) == 1
    assert [why for _, why in found.left_out] == ["it has an epoch in which an arm did no work"]


def test_machines_are_lines_of_their_own(keep: Keep, records: Path) -> None:
    other = {"hostname": "other", "processor": "P", "processors": 4}
    keep(1)
    keep(2, machine=other)
    keep(3, machine=other)
    question = only_question(records)
    assert machines_of(question)[0] == "other, P, 4 processors"
    assert len(trend_of(question, machines_of(question)[0]).points) == 2


def test_versions_stand_in_their_order(keep: Keep, records: Path) -> None:
    for day, (version, number) in enumerate([("18.4", 180004), ("17.9", 170009)], 1):
        keep(day, arm_build={"version": version, "version_number": number})
    question = only_question(records)
    found = trend_of(question, machines_of(question)[0], "version")
    assert [one.place for one in found.points] == ["17.9", "18.4"]


def test_versions_before_a_release_stand_in_the_order_in_which_they_came(
    keep: Keep, records: Path
) -> None:
    """All have one server_version_num, and are weighed in any order."""
    ordered = ["18.4", "19devel-g1a2b3c4d", "19alpha1", "19beta1", "19beta2 (Debian 19~beta2-1)",
               "19beta10", "19rc1", "19.0", "19.1"]  # fmt: skip
    for day, version in enumerate(sorted(ordered, key=lambda version: version[::-1]), 1):
        minor = version.removeprefix("19.") if version.startswith("19.") else "0"
        number = 180004 if version == "18.4" else 190000 + int(minor)
        keep(day, arm_build={"version": version, "version_number": number})
    question = only_question(records)
    trend = trend_of(question, machines_of(question)[0], "version")
    assert [point.place for point in trend.points] == ordered


def test_commits_stand_in_the_order_that_is_given(
    keep: Keep, records: Path, tmp_path: Path
) -> None:
    named = ["aaaaaa1", "bbbbbb2", "ccccc33"]
    for day, commit in enumerate(named, 1):
        keep(day, arm_build={"bindir": f"/builds/{commit}/bin"})
    order = tmp_path / "commits"
    order.write_text("ccccc33ffff a subject\n\naaaaaa1ffff\n")
    question = only_question(records)
    machine = machines_of(question)[0]
    found = trend_of(question, machine, "commit", read_commits(order))
    assert [one.place for one in found.points] == ["ccccc33", "aaaaaa1"]
    assert [why for _, why in found.left_out] == ["its build names no commit that is known"]
    unordered = trend_of(question, machine, "commit")
    assert [one.place for one in unordered.points] == named


@pytest.mark.parametrize(
    ("build", "commit"),
    [
        ({"version": "19devel-g1a2b3c4d"}, "1a2b3c4d"),
        ({"version": "18.4", "configure": "'--with-extra-version=-g0123abc'"}, "0123abc"),
        ({"version": "18.4", "bindir": "/ci/8f14e45fceea167a5a36dedd4bea2543/bin"},
         "8f14e45fceea167a5a36dedd4bea2543"),
        ({"version": "18.4", "bindir": "/usr/lib/postgresql/18/bin"}, ""),
        ({"version": "18.4", "bindir": "/opt/defaced/bin"}, ""),
        ({"version": "18.4", "bindir": "/builds/20260301/bin"}, ""),
        ({"version": "18.4", "bindir": "/builds/20260301-g0123abc/bin"}, "0123abc"),
        ({"version": "18.4", "bindir": "/builds/20260301a/bin"}, "20260301a"),
    ],
)  # fmt: skip
def test_the_commit_is_read_from_what_the_build_says(build: dict[str, str], commit: str) -> None:
    assert commit_of(KnownBuild.model_validate(build)) == commit


def test_wrong_orders_and_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unrecognized order"):
        read_order("size")
    with pytest.raises(UsageError, match="could not read commits"):
        read_commits(tmp_path / "gone")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UsageError, match="no commit in"):
        read_commits(tmp_path / "empty")


def test_a_copy_of_a_record_is_no_further_weighing(keep: Keep, records: Path) -> None:
    """Copied below the folder, even under another time, it is the same weighing."""
    for day in range(1, 5):
        keep(day)
    for day in range(1, 5):
        original = records / "checksums" / f"2026-03-0{day}T120000Z"
        shutil.copytree(original, records / "saved" / original.name)
        shutil.copytree(original, records / "saved" / f"2026-04-0{day}T120000Z")
    question = only_question(records)
    found = trend_of(question, machines_of(question)[0])
    assert [point.point.entry.path[:9] for point in found.points] == ["checksums"] * 4
    assert len(found.left_out) == 8
    assert {why[:14] for _, why in found.left_out} == {"it is a copy o"}
    assert found.sentence.startswith("4 weighings")


def test_of_a_copy_made_on_the_way_the_longer_one_counts(keep: Keep, records: Path) -> None:
    whole = keep(5)
    shutil.copytree(whole, records / "a-copy")
    slices = records / "a-copy" / "slices.jsonl"
    slices.write_text("".join(slices.read_text().splitlines(keepends=True)[:4]))
    question = only_question(records)
    found = trend_of(question, machines_of(question)[0])
    assert [point.point.entry.path for point in found.points] == ["checksums/2026-03-05T120000Z"]


@pytest.mark.parametrize("letters", [7, 10, 40])
def test_commits_are_one_however_short_either_is_cut(
    keep: Keep, records: Path, letters: int
) -> None:
    commits = [f"{n}{'0a1b2c3d4e5f6' * 3}" for n in "abc"]
    for day, commit in enumerate(commits, 1):
        keep(day, arm_build={"bindir": f"/builds/{commit[:20]}/bin"})
    question = only_question(records)
    order = [commit[:letters] for commit in reversed(commits)]
    found = trend_of(question, machines_of(question)[0], "commit", order)
    assert [point.place[0] for point in found.points] == ["c", "b", "a"]
    assert found.left_out == ()


def test_the_command_that_settles_a_step_can_be_pasted(keep: Keep, records: Path) -> None:
    for day in range(1, 17):
        version = "18.2 (Debian 18.2-1.pgdg12+1)" if day > 9 else "18.1;it's mine"
        effect = 0.06 if day > 9 else 0.02
        keep(day, effect=effect, spread=0.004, arm_build={"version": version, "bindir": ""})
    question = only_question(records)
    [step] = trend_of(question, machines_of(question)[0]).steps
    assert shlex.split(step.settled_by)[3:] == [
        "--set",
        "control.version=18.1;it's",
        "--set",
        "arm.version=18.2",
    ]
