"""`steelyard history` lists, compares, follows and exports records, and refuses in its manner."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from history.made import DAY, keep_record
from records.conftest import unpack
from thinned import thinned

Said = subprocess.CompletedProcess[str]
Steelyard = Callable[..., Said]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Fourteen weighings of a question with a step, and one that is damaged."""
    folder = tmp_path / "records"
    for day in range(1, 15):
        keep_record(
            folder / "checksums" / DAY.format(day=day),
            effect=0.06 if day > 7 else 0.02,
            seed=day,
        )
    (folder / "torn").mkdir()
    (folder / "torn" / "plan.json").write_text("{")
    return folder


def test_records_are_listed_newest_first_and_what_was_not_read_is_named(
    forked: Steelyard, records: Path
) -> None:
    said = forked("history", "list", "--since", "2026-03-13")
    assert said.returncode == 0
    lines = said.stdout.splitlines()
    assert lines[0] == "2026-03-14 12:00:00  checksums/2026-03-14T120000Z"
    assert lines[1].startswith("  faster        off against on            +6.")
    assert lines[2].startswith("2026-03-13")
    assert "not read (1; the others stand)" in lines
    assert any(line.startswith("  torn: could not read") for line in lines)


def test_points_of_a_sweep_and_weighings_without_a_verdict_are_marked(
    forked: Steelyard, tmp_path: Path
) -> None:
    sweep = tmp_path / "records" / "by-clients" / DAY.format(day=1)
    keep_record(sweep / "points" / "8")
    plan = {"key": "workload.clients", "values": ["8", "9"], "order": [0, 1], "seed": 1}
    (sweep / "sweep.json").write_text(json.dumps({**plan, "study": "checksums"}))
    keep_record(tmp_path / "records" / "going-on", verdict=False)
    lines = forked("history", "list").stdout.splitlines()
    assert f"  a point of the sweep by-clients/{DAY.format(day=1)}" in lines
    assert "  no verdict yet" in lines


def test_a_sweep_is_listed_once_with_its_curve(forked: Steelyard, tmp_path: Path) -> None:
    sweep = tmp_path / "records" / "by-clients" / DAY.format(day=1)
    for clients, effect in ((32, 0.01), (8, 0.0), (256, 0.07)):
        keep_record(sweep / "points" / str(clients), clients=clients, effect=effect, seed=clients)
    plan = {"key": "workload.clients", "values": ["8", "32", "256"], "order": [1, 0, 2]}
    (sweep / "sweep.json").write_text(json.dumps({**plan, "seed": 1, "study": "checksums"}))
    lines = forked("history", "list").stdout.splitlines()
    assert lines[0].endswith(f"by-clients/{DAY.format(day=1)}: a sweep of 3 points")
    assert lines[1] == "  off against on  ▁▂█"
    assert [line.split()[0] for line in lines[2:]] == ["8", "32", "256"]
    assert lines[4].startswith("    256  faster        +7.")
    some = forked("history", "list", "--verdict", "faster").stdout.splitlines()
    assert some[0].endswith(": a sweep of 3 points, 2 of them listed")
    assert [line.split()[0] for line in some[2:]] == ["32", "256"]


def test_points_of_a_sweep_over_sizes_stand_in_its_order(forked: Steelyard, tmp_path: Path) -> None:
    sweep = tmp_path / "records" / "by-work_mem" / DAY.format(day=1)
    values = ["64kB", "4MB", "256MB", "1GB"]
    for number, effect in ((2, 0.04), (0, 0.0), (3, 0.07), (1, 0.02)):
        keep_record(sweep / "points" / values[number], effect=effect, seed=9 + number)
    plan = {"key": "settings.work_mem", "values": values, "order": [2, 0, 3, 1], "seed": 9}
    (sweep / "sweep.json").write_text(json.dumps({**plan, "study": "checksums"}))
    lines = forked("history", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == values
    assert lines[1] == "  off against on  ▁▃▅█"


def test_the_list_as_json_is_one_object(forked: Steelyard, records: Path) -> None:
    told = json.loads(forked("history", "list", "--json").stdout)
    assert len(told["records"]) == 14
    assert told["records"][0]["readings"][0]["verdict"] == "faster"
    assert told["unread"][0]["path"] == "torn"
    assert json.loads(forked("history", "--json").stdout) == told


def test_an_altered_record_is_named_until_the_index_is_rebuilt(
    forked: Steelyard, records: Path
) -> None:
    forked("history")
    with (records / "checksums" / DAY.format(day=3) / "verdict.json").open("a") as stream:
        stream.write("\n")
    assert "altered: verdict.json" in forked("history", "list").stdout
    assert "altered" not in forked("history", "list", "--rebuild").stdout


def test_a_verdict_that_does_not_follow_is_named_when_it_is_asked_for(
    forked: Steelyard, tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    file = unpack("aa", tmp_path / "records") / "verdict.json"
    said = json.loads(file.read_text())
    said["contrasts"][0]["low_percent"] = 3.0
    file.write_text(json.dumps(said))
    assert "does not follow" not in forked("history", "list").stdout
    assert "does not follow" in forked("history", "list", "--verify").stdout


def test_two_records_are_compared_in_words_and_as_json(forked: Steelyard, records: Path) -> None:
    pair = "checksums/2026-03-01T120000Z", "checksums/2026-03-12T120000Z"
    said = forked("history", "compare", *pair).stdout
    assert "ratio   off of records/checksums/2026-03-01T120000Z against" in said
    assert "(95 % interval)" in said
    assert "  - 5 % of such intervals miss the truth" in said
    assert "  seed  1  →  12" in said
    told = json.loads(forked("history", "compare", *pair, "--json").stdout)
    [contrast] = told["contrasts"]
    assert contrast["same_question"]
    assert contrast["refused"] == []
    assert -5 < contrast["ratio"]["estimate_percent"] < -3


def test_a_ratio_that_cannot_be_is_refused_in_words(forked: Steelyard, records: Path) -> None:
    keep_record(records / "other", control_build={"version": "17.2"})
    said = forked("history", "compare", "other", "checksums/2026-03-01T120000Z")
    assert said.returncode == 0
    assert "no ratio of the two:" in said.stdout
    assert "  - version of the control: 17.2 in the first, 18.4 in the second" in said.stdout


def test_a_trend_is_drawn_and_its_step_said(forked: Steelyard, records: Path) -> None:
    said = forked("history", "trend", "checksums")
    assert said.returncode == 0
    assert said.stdout.count("●") == 14
    assert "a step at 2026-03-08 12:00: +" in said.stdout
    assert "a step is no verdict; this settles it: steelyard history compare" in said.stdout
    told = json.loads(forked("history", "trend", "checksums", "--json").stdout)
    assert [step["weighings"] for step in told["steps"]] == [[7, 7]]
    assert len(told["points"]) == 14


def test_a_trend_says_what_was_weighed_on_other_machines(forked: Steelyard, tmp_path: Path) -> None:
    """Every container has a name of its own: each line would be one weighing long, without a
    word."""
    for day in range(1, 7):
        machine = {"hostname": f"container-{min(day, 5)}", "processor": "P", "processors": 2}
        place = tmp_path / "records" / "checksums" / DAY.format(day=day)
        keep_record(place, seed=day, machine=machine)
    lines = " ".join(forked("history", "trend", "checksums").stdout.split())
    assert "on container-5, P, 2 processors" in lines
    assert "on 4 other machines, not here: 4 weighings (--machine names one: container-1" in lines
    assert "container-3, P, 2 processors; …)" in lines
    facts = json.loads(forked("history", "trend", "checksums", "--json").stdout)
    assert sum(facts["other_machines"].values()) == 4
    one = forked("history", "trend", "checksums", "--machine", "container-2").stdout
    assert "5 weighings" in " ".join(one.split())


def test_a_trend_by_version_shows_versions(forked: Steelyard, records: Path) -> None:
    told = json.loads(forked("history", "trend", "checksums", "--by", "version", "--json").stdout)
    assert {one["place"] for one in told["points"]} == {"18.4"}


@thinned("name", ["all.csv", "all.sqlite", "all.prom"], 1)
def test_the_history_is_exported(forked: Steelyard, records: Path, name: str) -> None:
    said = forked("history", "export", name)
    assert said.stdout == f"{name}: 14 rows\n"
    assert said.stderr.startswith("not read: torn: ")
    assert (records.parent / name).stat().st_size > 500
    told = json.loads(forked("history", "export", name, "--latest", "--json").stdout)
    assert (told["rows"], told["file"]) == (1, name)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("list", "--records", "gone"), 3, 'no folder of records: "gone"'),
        (("compare", "one"), 2, "two records are compared: 1 were named"),
        (("compare", "one", "two"), 3, 'not a record: "one"'),
        (("trend", "x", "--by", "size"), 2, 'unrecognized order: "size"'),
        (("list", "--verdict", "good"), 2, 'unrecognized verdict: "good"'),
        (("list", "--since", "soon"), 2, 'invalid date: "soon"'),
        (("export", "all.xml"), 2, "does not say by its ending"),
    ],
)
def test_wrong_questions_are_refused(
    refused: Callable[..., str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    assert words in refused("history", *arguments, status=status)


def test_a_question_that_nothing_answers_is_refused_with_what_is_near(
    forked: Steelyard, records: Path
) -> None:
    said = forked("history", "trend", "checksum")
    assert said.returncode == 2
    assert said.stderr.splitlines()[-1] == 'HINT:  Perhaps you meant "checksums".'


@pytest.mark.parametrize(
    "arguments", [("history", "trend", "checksums"), ("fleet",), ("fleet", "machines")]
)
def test_what_was_not_read_is_named_by_everything_that_answers(
    forked: Steelyard, records: Path, arguments: tuple[str, ...]
) -> None:
    said = forked(*arguments)
    assert said.stderr.startswith("not read: torn: ")
    told = json.loads(forked(*arguments, "--json").stdout)
    assert [refused["path"] for refused in told["unread"]] == ["torn"]
