"""A workload is a folder, and what is wrong with one is said by file and key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from folders import DESCRIPTION, write_folder
from typer.testing import CliRunner

from steelyard.cli.command_line import app
from steelyard.model.errors import StudyError, UsageError
from steelyard.study.read import read_study
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.resolved import resolve, resolve_workload
from steelyard.workloads.reading.scripts import resolve_scripts
from steelyard.workloads.reading.workload import LOADING_FILES, Workload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


def test_a_folder_is_a_workload(folder: Path) -> None:
    workload = find_workload(str(folder))
    assert workload.statements("load.sql", 7) == [
        "INSERT INTO things SELECT generate_series(1, 7);"
    ]
    assert workload.statements("keys.sql", 7) == []


def test_a_byte_order_mark_before_a_file_is_no_part_of_it(folder: Path, tmp_path: Path) -> None:
    (marked := tmp_path / "marked").mkdir()
    write_folder(marked)
    for file in (file for file in marked.rglob("*") if file.is_file()):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    (own := tmp_path / "own.sql").write_bytes(b"\xef\xbb\xbf\\set a 1\nSELECT :a;\n")
    read = []
    for place in (folder, marked):
        workload = find_workload(str(place))
        loading = [name for name in workload.files if name in LOADING_FILES]
        statements = {name: workload.statements(name, 7) for name in loading}
        scripts = resolve_scripts(workload, {**dict.fromkeys(workload.scripts, 1), str(own): 1}, 7)
        read.append((statements, [script.text for script in scripts]))
    assert read[0] == read[1]
    assert read[0][1][-1] == "\\set a 1\nSELECT :a;\n"


def test_scripts_that_need_no_table_need_no_schema(folder: Path) -> None:
    description = folder / "workload.toml"
    text = description.read_text().replace('[[tables]]\nname = "things"\n', "")
    description.write_text(text)
    with pytest.raises(UsageError, match='key "tables" is missing') as refused:
        find_workload(str(folder))
    assert "tables = []" in str(refused.value)
    description.write_text("tables = []\n" + text)
    (folder / "schema.sql").unlink()
    workload = find_workload(str(folder))
    assert workload.tables == ()
    assert workload.statements("schema.sql", 1) == []


def test_every_built_in_workload_can_be_read() -> None:
    assert "pgbench" in known_workloads()
    for name in known_workloads():
        workload = find_workload(name)
        assert workload.statements("schema.sql", 1) or not workload.loaded
        resolve_scripts(workload, dict.fromkeys(workload.scripts, 1), 1)


def test_a_workload_is_added_by_its_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, reads = tmp_path / "workloads", {"scripts/look": "SELECT :width;"}
    shutil.copytree(find_workload("pgbench").folder, room / "pgbench")
    (room / "mine").mkdir()
    write_folder(room / "mine", toml='[options.width]\ntitle = "letters"\ndefault = 1\n', **reads)
    monkeypatch.setattr("steelyard.workloads.reading.folder._BUILT_IN", room)
    assert known_workloads() == ["mine", "pgbench"]
    listed = CliRunner().invoke(app, ["workloads"])
    assert "mine     a workload of one table\n" in listed.output
    study = resolve_workload(read_study("settings", ["workload=mine", "workload.options.width=3"]))
    assert (study.workload.scripts, study.workload.scale) == ({"look": 1}, 1)
    [script] = resolve(study.workload).scripts
    assert (script.rows, script.writes) == (1, False)
    with pytest.raises(UsageError, match="unknown workload") as refused:
        find_workload("mnie")
    assert 'Did you mean "mine"?' in str(refused.value)


def test_an_unknown_workload_suggests_the_near_one() -> None:
    with pytest.raises(UsageError, match='unknown workload: "pgbnech"') as refused:
        find_workload("pgbnech")
    assert 'Did you mean "pgbench"?' in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "a', 'titel = "a', 'unknown key: "titel"\nHINT:  Perhaps you meant "title".'),
        ('title = "a', 'colour = 1\ntitle = "a', 'unknown key: "colour"\nHINT:  It has: '),
        ("rows = 1", "row = 1", 'unknown key: "scripts.look.row"'),
        ("rows = 1", "rows = -1", 'key "scripts.look.rows"'),
        ('name = "things"', 'name = "things; DROP"', 'key "tables.0.name"'),
        ("[scripts.look]", "[scripts.other]", 'key "scripts.other": there is no'),
        ('name = "mine"', "name = ", "could not read workload"),
    ],
)
def test_a_wrong_description_names_file_and_key(
    folder: Path, old: str, new: str, words: str
) -> None:
    (folder / "workload.toml").write_text(DESCRIPTION.replace(old, new))
    with pytest.raises(UsageError, match=r"workload\.toml") as refused:
        find_workload(str(folder))
    assert words in str(refused.value)


def test_the_digest_follows_the_files_that_decide_the_rows(folder: Path) -> None:
    before = find_workload(str(folder)).digest()
    (folder / "scripts" / "look.sql").write_text("SELECT 1;")
    assert find_workload(str(folder)).digest() == before
    (folder / "load.sql").write_text("SELECT 1;")
    made_otherwise = find_workload(str(folder)).digest()
    assert made_otherwise != before
    (folder / "checks.sql").write_text("SELECT 'always wrong';")
    assert find_workload(str(folder)).digest() != made_otherwise, "these rows were not checked"


OPTIONS = """
[options.width]
title = "letters of a thing"
default = 1
[options.kind]
title = "what things are"
default = "plain"
values = ["plain", "odd"]
"""


@pytest.mark.parametrize(
    ("file", "text", "option"),
    [
        ("load", "INSERT INTO things SELECT :width;", "width"),
        ("schema", "\\if :kind_odd\n\\endif\nCREATE TABLE things (n int);", "kind"),
        ("last", "INSERT INTO things SELECT :width;", "width"),
    ],
)
def test_an_option_that_decides_the_rows_must_say_so(
    tmp_path: Path, file: str, text: str, option: str
) -> None:
    write_folder(tmp_path, toml=OPTIONS, **{file: text})
    with pytest.raises(UsageError, match=rf"{file}\.sql:1:\d+: undefined variable") as refused:
        find_workload(str(tmp_path))
    assert f'Option "{option}" decides what is loaded here' in str(refused.value)
    write_folder(tmp_path, toml=OPTIONS.replace("default", "loads = true\ndefault"), **{file: text})
    digests = {find_workload(str(tmp_path), {"width": n}).digest() for n in (5, 500)}
    assert len(digests) == 2


def test_checks_may_follow_options_that_decide_no_rows(tmp_path: Path) -> None:
    write_folder(tmp_path, toml=OPTIONS, checks="SELECT 'wrong' WHERE :width = 0;")
    assert find_workload(str(tmp_path), {"width": 2}).statements("checks.sql", 1) == [
        "SELECT 'wrong' WHERE 2 = 0;"
    ]


def test_numbers_may_follow_the_options_that_load(folder: Path) -> None:
    text = DESCRIPTION.replace("per_scale = 100", 'per_scale = "100 * :width + :kind_odd"')
    options = OPTIONS.replace("default", "loads = true\ndefault")
    (folder / "workload.toml").write_text(text + options)
    workload = find_workload(str(folder), {"width": 7, "kind": "odd"})
    assert workload.bytes_at(10) == 7_010
    assert workload.largest_scale(7_010) == 10


def test_the_largest_scale_leaves_room_for_what_does_not_grow(folder: Path) -> None:
    text = DESCRIPTION.replace("per_scale = 100", "per_scale = 100\nbytes_fixed = 5_000")
    (folder / "workload.toml").write_text(text)
    workload = find_workload(str(folder))
    assert workload.bytes_at(10) == 6_000
    assert [workload.largest_scale(room) for room in (6_099, 6_000, 4_000)] == [10, 10, 0]


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        ("100 * :width", 'undefined variable "width"'),
        ("100 *", "syntax error at the end"),
        ("0 - 1", "it is -1"),
        ("1.5", "it is 1.5"),
    ],
)
def test_a_number_that_is_none_names_its_key(folder: Path, quantity: str, words: str) -> None:
    text = DESCRIPTION.replace("per_scale = 100", f'per_scale = "{quantity}"')
    (folder / "workload.toml").write_text(text + OPTIONS)
    with pytest.raises(UsageError, match=r'workload\.toml: key "bytes_per_scale": ') as refused:
        find_workload(str(folder))
    assert words in str(refused.value)


def test_a_file_that_is_no_text_is_told_when_the_folder_is_read(folder: Path) -> None:
    (folder / "load.sql").write_bytes(b"SELECT '\xff';")
    with pytest.raises(UsageError, match=r'load\.sql": it is not UTF-8 text'):
        find_workload(str(folder))


def test_built_in_scripts_resolve_with_their_weights(pgbench: Workload) -> None:
    select, update = resolve_scripts(pgbench, {"select-only": 9, "simple-update": 1}, 50)
    assert (select.weight, select.rows, select.writes) == (9, 1, False)
    assert (update.weight, update.rows, update.writes) == (1, 1, True)
    assert "random(1, 100000 * :scale)" in select.text


def test_a_script_file_is_read_and_taken_to_write_where_its_words_do(
    pgbench: Workload, tmp_path: Path
) -> None:
    for text, writes in (
        ("SELECT 1;", False),
        ("SELECT abalance FROM pgbench_accounts WHERE aid = 1 FOR UPDATE;", True),
        ("BEGIN; insert into t values (1); END;", True),
        ("SELECT :delta;", False),
    ):
        file = tmp_path / "mine.sql"
        file.write_text(text)
        [script] = resolve_scripts(pgbench, {str(file): 1}, 1, {"delta": 3})
        assert (script.rows, script.writes) == (None, writes), text


def test_a_wrong_script_names_file_line_and_column(pgbench: Workload, tmp_path: Path) -> None:
    file = tmp_path / "mine.sql"
    file.write_text("SELECT 1;\nSELECT :nope;\n")
    with pytest.raises(StudyError) as refused:
        resolve_scripts(pgbench, {str(file): 1}, 1)
    assert f'{file}:2:8: undefined variable "nope"' in str(refused.value)


def test_an_unknown_script_suggests_the_near_one(pgbench: Workload) -> None:
    with pytest.raises(StudyError, match='unknown script: "selct-only"') as refused:
        resolve_scripts(pgbench, {"selct-only": 1}, 1)
    assert 'Did you mean "select-only"?' in str(refused.value)
    with pytest.raises(StudyError, match="could not read script"):
        resolve_scripts(pgbench, {"./nothing.sql": 1}, 1)
