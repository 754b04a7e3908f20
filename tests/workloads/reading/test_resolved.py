"""The workload of a study is read once: what happens to its folder later changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import write_folder

from steelyard.model.errors import StudyError, UsageError
from steelyard.study.read import read_study
from steelyard.study.study import Source, Study, WorkloadChoice
from steelyard.workloads.reading.resolved import data_bytes, resolve, resolve_workload
from steelyard.workloads.reading.workload import LOADING_FILES, Workload

MORE = """
[options.width]
title = "letters of a thing"
default = 1
[probes]
first = "SELECT 1"
[counts]
done = "SELECT count(*) FROM things"
"""
FILES = {"before": "SELECT 2;", "checks": "SELECT 3;", "checks/look": "SELECT 4;"}


def study_of(folder: Path) -> Study:
    return read_study("settings", [f"workload={folder}", "workload.clients=3"])


def everything(workload: Workload) -> object:
    files = (*LOADING_FILES, "before.sql", "checks.sql", "checks/look.sql")
    return (
        {file: workload.statements(file, 2) for file in files},
        workload.digest(),
        workload.bytes_at(2),
        workload.mix(),
        workload.script("look").text(),
        (workload.counts, workload.probes),
    )


def test_an_edit_of_the_folder_changes_nothing_of_what_was_resolved(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, toml=MORE, **FILES)
    found = resolve(study_of(folder).workload)
    before = everything(found.workload)
    assert found.workload.statements("checks/look.sql", 1) == ["SELECT 4;"]
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        file.write_text("SELECT 'edited';")
    assert everything(found.workload) == before
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        file.unlink()
    assert everything(found.workload) == before
    assert [script.text for script in found.scripts] == ["SELECT :scale;\n"]


def test_what_was_resolved_is_what_the_record_says_of_it(tmp_path: Path) -> None:
    study = study_of(write_folder(tmp_path, toml=MORE, **{"checks/look": ""}))
    asked, kept = resolve(study.workload), resolve_workload(study).workload
    assert (asked.scale, {s.name: s.weight for s in asked.scripts}) == (kept.scale, kept.scripts)
    assert asked.variables == {"clients": 3, "scale": 1, "width": 1}
    assert resolve(kept) == asked


def test_the_size_of_the_data_is_known_where_the_workload_loads_them(tmp_path: Path) -> None:
    study = read_study("tuning")
    assert data_bytes(study) == resolve(study.workload).workload.bytes_at(32) > 3 << 30
    own = Source(place=str(tmp_path))
    assert data_bytes(study.model_copy(update={"source": own})) is None, "theirs may be of any size"
    folder = write_folder(tmp_path)
    assert data_bytes(study_of(folder)) == 100
    description = folder / "workload.toml"
    description.write_text(description.read_text().replace("bytes_per_scale = 100", ""))
    assert data_bytes(study_of(folder)) is None


@pytest.mark.parametrize("scripts", ["", 'workload.scripts={"q01" = 1, "q02" = 1}'])
def test_an_excluded_script_that_is_not_driven_is_refused_with_the_near_one(scripts: str) -> None:
    changes = [change for change in ("workload=tproc-h", scripts) if change]
    with pytest.raises(StudyError, match='"qq01" is not driven') as refused:
        resolve_workload(read_study("settings", [*changes, 'workload.excluded=["qq01"]']))
    assert refused.value.hint == 'Perhaps you meant "q01".'
    resolve_workload(read_study("settings", [*changes, 'workload.excluded=["q01"]']))


def timed(*changes: str) -> bool:
    return resolve(read_study("settings", list(changes)).workload).timed


def test_statements_of_own_scripts_are_timed_where_a_script_holds_several(tmp_path: Path) -> None:
    """A built-in mix of several statements is not, unless the study says so."""
    alone, several, either = (tmp_path / f"{name}.sql" for name in ("alone", "several", "either"))
    alone.write_text("\\set a 1\nSELECT :a;")
    several.write_text("SELECT 1;\nSELECT 2;")
    either.write_text("\\if false\nSELECT 1;\n\\else\nSELECT 2;\n\\endif")
    of = "workload.scripts={{'{}' = 1}}".format
    assert not timed(of(alone))
    assert timed(of(several))
    assert timed(of(either))
    assert not timed(of(several), "workload.timed=false")
    assert not timed("workload.scripts={'tpcb-like' = 1}")
    assert timed("workload.scripts={'tpcb-like' = 1}", "workload.timed=true")


@pytest.mark.parametrize(
    ("is_captured", "writes", "begins_read_only"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_sessions_begin_read_only_where_captured_work_of_a_folder_is_to_read(
    tmp_path: Path, is_captured: bool, writes: bool, begins_read_only: bool
) -> None:
    """Asked by drive and by weigh --address alike."""
    folder = write_folder(tmp_path)
    description = folder / "workload.toml"
    text = description.read_text().replace("writes = false", f"writes = {str(writes).lower()}")
    description.write_text("tried_first = true\n" * is_captured + text)
    resolved = resolve(study_of(folder).workload)
    assert (resolved.writes, resolved.begins_read_only) == (writes, begins_read_only)


@pytest.mark.parametrize(
    ("text", "begins_read_only"),
    [("SELECT place_order(1);", True), ("SELECT 1;", True), ("DELETE FROM t;", False)],
)
def test_sessions_begin_read_only_where_scripts_of_the_user_are_to_read(
    tmp_path: Path, text: str, begins_read_only: bool
) -> None:
    (tmp_path / "q.sql").write_text(text)
    changes = ["workload=own", f"workload.scripts={{'{tmp_path}/q.sql' = 1}}", "address=host=db"]
    study = read_study("sessions", ["settings={}", *changes])
    assert resolve(study.workload).begins_read_only is begins_read_only


def on_their_data(*changes: str) -> WorkloadChoice:
    """The workload of a study whose data come from elsewhere."""
    study = read_study("settings", list(changes))
    return resolve_workload(study.model_copy(update={"source": Source(place="/data")})).workload


def test_the_scale_of_data_from_elsewhere_is_said_and_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="scale of the data is not known") as refused:
        on_their_data("workload=pgbench")
    assert "branches" in str(refused.value)
    assert "--set workload.scale=N" in str(refused.value)
    assert on_their_data("workload=pgbench", "workload.scale=7").scale == 7
    keyed, fixed = tmp_path / "keyed.sql", tmp_path / "fixed.sql"
    keyed.write_text("\\set a random(1, 100000 * :scale)\nSELECT :a;")
    fixed.write_text("SELECT 1::scale;")
    scripts = "workload.scripts={{'{}' = 1}}".format
    with pytest.raises(UsageError, match="scale of the data is not known"):
        on_their_data("workload=own", scripts(keyed))
    assert on_their_data("workload=own", scripts(keyed), "workload.scale=7").scale == 7
    on_their_data("workload=own", scripts(keyed), "workload.variables.scale=7")
    on_their_data("workload=own", scripts(fixed))
    sessions = ["settings={}", "workload=own", scripts(keyed), "address=host=db"]
    with pytest.raises(UsageError, match="scale of the data is not known"):
        resolve_workload(read_study("settings", sessions))
    ours = read_study("settings", [scripts(keyed), "workload.scale=3"])
    assert resolve_workload(ours).workload.scale == 3
