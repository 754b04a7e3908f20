"""Tests which files a workload has on which engine, and that PostgreSQL's are what they were."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from folders import write_folder

from steelyard._core import script_statements
from steelyard.cli.driving.run import read_scripts
from steelyard.model.errors import UsageError
from steelyard.study.study import WorkloadChoice
from steelyard.workloads.reading.dialects import language
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import resolve_scripts
from steelyard.workloads.reading.workload import DESCRIPTION, LOADING_FILES

OF_MYSQL = {
    "schema.mysql": "CREATE TABLE things (n bigint);\n",
    "scripts/look.mysql": "SELECT :scale AS mysql;\n",
    "scripts/look.mariadb": "SELECT :scale AS mariadb;\n",
    "schema.sqlserver": "CREATE TABLE things (n bigint);\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path, **OF_MYSQL)


@pytest.mark.parametrize(
    ("kind", "schema", "script"),
    [
        ("postgres", "schema.sql", "look.sql"),
        ("noop", "schema.sql", "look.sql"),
        ("mysql", "schema.mysql.sql", "look.mysql.sql"),
        ("mariadb", "schema.mysql.sql", "look.mariadb.sql"),
        ("sqlserver", "schema.sqlserver.sql", "look.sql"),
    ],
)
def test_the_nearest_dialect_wins_and_the_generic_file_is_the_last(
    folder: Path, kind: str, schema: str, script: str
) -> None:
    found = find_workload(str(folder), kind=kind)
    assert found.files["schema.sql"].path.name == schema
    assert found.script("look").path.name == script
    assert found.files["load.sql"].path.name == "load.sql"
    choice = WorkloadChoice(name=str(folder), clients=1)
    [resolved] = resolve(choice, kind).scripts
    assert resolved.text == (folder / "scripts" / script).read_text()


def test_a_workload_without_tables_for_an_engine_names_the_file_that_is_missing(
    folder: Path,
) -> None:
    (folder / "schema.mysql.sql").unlink()
    with pytest.raises(UsageError, match=r'"mine" has no tables for mysql: .* schema\.mysql\.sql'):
        find_workload(str(folder), kind="mysql")
    with pytest.raises(UsageError, match=r"no schema\.mariadb\.sql and no schema\.mysql\.sql"):
        find_workload("insert-read", kind="mariadb")
    with pytest.raises(UsageError, match=r"no tables for sqlserver: .* schema\.sqlserver\.sql"):
        find_workload("pgbench", kind="sqlserver")
    assert find_workload("own", kind="mysql").tables == ()


@pytest.mark.parametrize(("side", "script"), [("client", "turn"), ("server", "loop")])
def test_the_insert_loop_has_its_statements_in_t_sql(side: str, script: str) -> None:
    choice = WorkloadChoice(name="select-insert", options={"side": side}, clients=1, scale=2)
    found = resolve(choice, "sqlserver")
    assert [one.name for one in found.scripts] == [script]
    [routine] = found.workload.statements("routines.sql", 2)  # cut at no semicolon of its own
    assert routine.startswith("CREATE PROCEDURE insert_loop")
    assert routine.endswith("END;")
    assert found.workload.statements("keys.sql", 2) == []
    assert len(found.workload.statements("checks.sql", 2)) == 2
    assert "MAX(id)" in found.workload.counts["turns"]


def test_a_script_of_the_user_writes_by_the_rules_of_its_engine() -> None:
    text = {"mine": "SELECT a FROM t WHERE b = 7\nDELETE t WHERE b = 7;\n"}
    own = find_workload("own", kind="sqlserver")
    [script] = resolve_scripts(own, {"mine": 1}, 1, {}, text)
    assert script.writes


def test_a_dialect_of_comments_alone_leaves_nothing_to_do(folder: Path) -> None:
    (folder / "load.mysql.sql").write_text("-- Nothing is loaded here.\n\n")
    assert find_workload(str(folder), kind="mysql").statements("load.sql", 1) == []
    assert len(find_workload(str(folder)).statements("load.sql", 1)) == 1


def test_keys_of_a_dialect_go_over_the_description(folder: Path) -> None:
    text = (folder / DESCRIPTION).read_text()
    (folder / DESCRIPTION).write_text(f'{text}[counts]\na = "SELECT 1"\nb = "SELECT 2"\n')
    (folder / "workload.mysql.toml").write_text('max_scale = 5\n[counts]\nb = "SELECT 3"\n')
    (folder / "workload.mariadb.toml").write_text("max_scale = 4\n")
    found = [find_workload(str(folder), kind=kind) for kind in ("postgres", "mysql", "mariadb")]
    assert [one.counts["b"] for one in found] == ["SELECT 2", "SELECT 3", "SELECT 3"]
    assert [one.counts["a"] for one in found] == ["SELECT 1"] * 3
    assert [one.max_scale for one in found] == [2**31 - 1, 5, 4]
    (folder / "workload.mysql.toml").write_text("kind = 'mysql'\n")
    with pytest.raises(UsageError, match='unknown key: "kind"'):
        find_workload(str(folder), kind="mysql")


def test_a_routine_of_mysql_is_cut_as_its_server_reads_it(folder: Path) -> None:
    body = "CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 'it\\'s; -- x'; END IF; END;"
    (folder / "routines.mysql.sql").write_text(f"{body}\nDO `;`;\n")
    found = find_workload(str(folder), kind="mysql")
    assert found.statements("routines.sql", 1) == [body, "DO `;`;"]


def test_a_digest_follows_the_files_of_its_engine(folder: Path) -> None:
    before = [find_workload(str(folder), kind=kind).digest() for kind in ("postgres", "mysql")]
    assert before[0] != before[1]
    (folder / "workload.mysql.toml").write_text("default_scale = 2\n")
    after = [find_workload(str(folder), kind=kind).digest() for kind in ("postgres", "mysql")]
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize("name", known_workloads())
def test_no_dialect_changes_what_postgresql_is_given(name: str) -> None:
    """A digest keeps templates, and is in records: it is of the generic files alone."""
    workload = find_workload(name)
    own = workload.folder.parent / (workload.loads_as or name)
    known = hashlib.sha256()
    for file in (DESCRIPTION, *LOADING_FILES, "checks.sql"):
        there = [folder / file for folder in (workload.folder, own) if (folder / file).exists()]
        place = own / file if file == DESCRIPTION else next(iter(there), None)
        known.update(file.encode() + b"\0" + (place.read_bytes() if place else b"\0"))
    known.update(repr(sorted(workload.loading.items())).encode())
    assert workload.digest() == known.hexdigest()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("postgres", "postgres"), ("own", "postgres"), ("mysql", "mysql"), ("mariadb", "mysql"),
        ("sqlserver", "sqlserver"),
    ],
)  # fmt: skip
def test_statements_are_cut_by_the_rules_of_their_engine(kind: str, name: str) -> None:
    assert language(kind) == name
    brackets, backslash = "SELECT [it's; a];", "SELECT 'a\\', ';';"
    assert (_statements(brackets, name) == [brackets]) is (name == "sqlserver")
    assert (_statements(backslash, name) == [backslash]) is (name != "mysql")


def _statements(text: str, dialect: str) -> list[str]:
    try:
        return script_statements("s.sql", text, {}, dialect=dialect)
    except ValueError:
        return []


@pytest.mark.parametrize("script", ["SELECT 1\nGO\nSELECT 2;", "SELECT 1;\n  go 5\n", "GO"])
def test_words_of_sqlcmd_are_refused_of_a_script_for_sql_server(
    tmp_path: Path, script: str
) -> None:
    path = tmp_path / "batches.sql"
    path.write_text(script)
    with pytest.raises(UsageError, match="cannot drive script") as refused:
        read_scripts([(False, str(path))], {}, "simple", "sqlserver")
    assert "GO is a word of the client sqlcmd: leave it out" in str(refused.value.detail)
