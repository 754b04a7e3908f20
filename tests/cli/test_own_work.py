"""The weighing of one's own work stands on the upgrade's page, by commands that can be pasted."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from engines.postgres.upgrade.test_outcome import OUTCOME
from records.conftest import unpack
from records.test_pairs import with_pair
from steelyard.cli.command_line import load_command
from steelyard.cli.commands.upgrade import _weighed_words
from steelyard.cli.views.upgrades.sections import Commands, Section, SectionTable, terminal_text
from steelyard.cli.weighing.upgrade import (
    OwnWork,
    proposed_weighing,
    weighed_section,
    weighing_words,
)
from steelyard.engines.postgres.upgrade.outcome import UpgradeOutcome
from steelyard.engines.postgres.upgrade.rehearsal import UpgradeRequest
from steelyard.model.errors import SteelyardError
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.verdict.rejudge import rejudge


def study_of_words(words: tuple[str, ...]) -> Study:
    changes = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    return read_study(words[1], changes)


@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_its_arms_are_the_builds_and_checksums_of_the_rehearsal(
    checksums: bool, listed: bool
) -> None:
    outcome = replace(OUTCOME, old_checksums=checksums)
    if not listed:
        outcome = replace(outcome, old_engine="", new_engine="", old_bindir="/o", new_bindir="/n")
    study = study_of_words(weighing_words(outcome, ["--from", "/d"], ["-f", "q.sql"]))
    assert [arm.checksums for arm in study.every_arm] == [
        checksums, checksums, not checksums, checksums,
    ]  # fmt: skip
    builds = [arm.version if listed else arm.bindir for arm in study.every_arm]
    old, new = ("bundle-16.14", "system-18.4") if listed else ("/o", "/n")
    assert builds == [old, new, new, new]
    assert [study.defaults_of(arm) for arm in study.arms] == ["aligned", "aligned", "as-shipped"]
    assert [arm.against for arm in study.arms] == [None, "after", "after"]


def commands_of(section: Section) -> list[str]:
    return [line for block in section.blocks if isinstance(block, Commands) for line in block.lines]


def test_what_is_proposed_parses_as_the_commands_that_it_names() -> None:
    section = proposed_weighing(OUTCOME, ["--from", OUTCOME.source], ["--old-bindir", "/o p"])
    lines = commands_of(section)
    assert [shlex.split(line)[1] for line in lines] == ["upgrade", "weigh"]
    for line in lines:
        name, *words = shlex.split(line)[1:]
        context = load_command(name).make_context(name, words)
        assert context.params["source"] == OUTCOME.source
        assert context.params["database"] == "shop"
        assert context.params["file"] == ["YOUR.sql"]
    assert study_of_words(tuple(shlex.split(lines[1])[1:])).control.version == "bundle-16.14"


def test_a_backup_of_a_running_server_is_named_by_keys_of_the_study() -> None:
    request = UpgradeRequest(
        Path("/b/data"), "18", ("copy",), configuration=Path("/b.conf"), reported=True, partial="p"
    )
    work = OwnWork(None, ("q.sql",), "20m", "shop", ("workload.clients=3",), None)
    words = _weighed_words(OUTCOME, request, work)
    assert {"--from", "--database", "--config"}.isdisjoint(words)
    study = study_of_words(words)
    source = study.source
    assert source is not None
    assert (source.place, source.database, source.config) == ("/b/data", "shop", "/b.conf")
    assert (source.reported, source.partial) == (True, "p")
    assert (study.workload.name, study.workload.clients, study.workload.loads) == ("own", 3, 1)
    named = _weighed_words(OUTCOME, replace(request, reported=False), work)
    assert named[:6] == ("weigh", "upgrade", "--from", "/b/data", "--config", "/b.conf")
    assert "--database" in named


def test_a_verdict_is_a_line_for_each_whole_and_each_part(tmp_path: Path) -> None:
    verdict = rejudge(with_pair(unpack("three-arms", tmp_path)))
    section = weighed_section(OUTCOME, verdict, ["weigh", "upgrade"])
    table = next(block for block in section.blocks if isinstance(block, SectionTable))
    assert len(table.rows) == len(verdict.contrasts) + len(verdict.pairs)
    assert table.rows[0][0] == "the upgrade, all else as before"
    assert verdict.contrasts[0].verdict in table.rows[0]
    assert commands_of(section) == ["steelyard weigh upgrade"]
    shown = terminal_text("", [section], 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert verdict.record in shown.replace("\n  ", "")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": "20m"}, "--budget belongs to the weighing"),
        ({"database": "shop"}, "--database belongs"),
        ({"files": ("no-such.sql",)}, "no-such.sql"),
        ({"files": ("select-only",), "budget": "1s"}, "budget"),
        ({"files": ("select-only",), "changes": ("workload.clent=1",)}, "clent"),
        ({"files": ("select-only",), "record": Path("/")}, "Name a new or an empty one: --record"),
    ],
)
def test_wrong_work_is_refused_before_anything_is_copied(
    changes: dict[str, object], words: str
) -> None:
    nothing = OwnWork(None, (), None, None, (), None)
    with pytest.raises(SteelyardError, match=words):
        replace(nothing, **changes).require_sound()  # type: ignore[arg-type]


def test_a_listed_outcome_of_a_release_candidate_names_its_major_version() -> None:
    outcome: UpgradeOutcome = replace(OUTCOME, new_version="19rc1")
    assert outcome.new_major == "19"


def test_a_record_is_kept_where_that_of_a_weighing_would_be(tmp_path: Path) -> None:
    work = OwnWork(None, ("select-only",), None, None, (), tmp_path)
    work.require_sound()
    replace(work, record=tmp_path / "new").require_sound()
    (tmp_path / "notes.txt").write_text("mine\n")
    with pytest.raises(SteelyardError, match="holds something else"):
        work.require_sound()
