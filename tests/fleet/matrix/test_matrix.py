"""A matrix is every study on every kind of host with every version; what is wrong is named, before
anything of it crosses to a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.fleet.matrix.matrix import read_matrix
from steelyard.model.errors import StudyError
from steelyard.study.read import read_study

MINE = """\
title = "{title}"
question = "?"
{more}
[control]
name = "on"

[[arm]]
name = "off"
checksums = false
{arm}
"""


def _file(folder: Path, text: str) -> Path:
    file = folder / "matrix.toml"
    file.write_text(text)
    return file


def _mine(folder: Path, title: str = "mine", more: str = "", arm: str = "") -> None:
    (folder / "mine.toml").write_text(MINE.format(title=title, more=more, arm=arm))


def test_cells_are_all_combinations_each_with_a_seed_and_a_name_of_its_own(tmp_path: Path) -> None:
    _mine(tmp_path)
    text = """
        studies = ["checksums", "mine.toml"]
        kinds = ["small", "large"]
        versions = ["17", "18"]
        hosts = 2
        budget = "1m"
        set = ["workload.scale=5"]
        seed = 100
    """
    cells = read_matrix(_file(tmp_path, text)).cells
    assert len(cells) == len({cell.name for cell in cells}) == len({cell.seed for cell in cells})
    assert len(cells) == 16
    first = cells[0]
    assert first.name == "checksums-17-small-1"
    assert first.arguments(Path("r")) == [
        "weigh", "checksums",
        "--set", "workload.scale=5", "--set", "budget.measuring=1m",
        "--set", "budget.turns=1m", "--set", "budget.cycles=1m",
        "--set", "version=17",
        "--seed", "100", "--record", "r",
    ]  # fmt: skip
    assert first.files == ()
    [shipped] = {cell.files for cell in cells if cell.study == "./mine.toml"}
    assert [name for name, _ in shipped] == ["mine.toml"]
    assert {cell.name for cell in cells} >= {"mine-18-large-2"}


@pytest.mark.parametrize(
    ("own", "measuring", "turns"),
    [
        ("", "5m", "5m"),
        ("'budget.measuring=3m'", "3m", "5m"),
        ("' budget . turns = \"4m\"', 'budget.measuring=3m'", "3m", "4m"),
        ("'budget={turns = \"4m\", epochs = 20}'", "5m", "4m"),
        ("'budget.epochs=20'", "5m", "5m"),
    ],
)
def test_a_budget_that_is_set_for_a_layout_stands_over_that_of_the_matrix(
    tmp_path: Path, own: str, measuring: str, turns: str
) -> None:
    text = f'studies = ["checksums"]\nbudget = "5m"\nset = [{own}]'
    [cell] = read_matrix(_file(tmp_path, text)).cells
    budget = read_study(cell.study, cell.changes).budget
    minutes = {"3m": 180, "4m": 240, "5m": 300}
    assert budget.measuring == minutes[measuring] * 10**9
    assert budget.turns == minutes[turns] * 10**9
    assert budget.cycles == 300 * 10**9
    assert budget.epochs == (20 if "epochs" in own else None)


@pytest.mark.parametrize("study", ["io-method", "replication", "wal-compression", "aa"])
def test_a_version_and_a_price_are_of_every_arm_and_leave_none_out(
    tmp_path: Path, study: str
) -> None:
    text = f'studies = ["{study}"]\nversions = ["17"]\nprices = {{ any = "1/h" }}\n'
    text += 'kinds = ["any"]\nset = ["decision.metric=throughput"]'
    [cell] = read_matrix(_file(tmp_path, text)).cells
    arms = read_study(study, cell.changes).every_arm
    assert len(arms) == len(read_study(study).every_arm)
    assert {(arm.version, arm.price) for arm in arms} == {("17", "1/h")}


def test_the_digest_is_of_everything_that_a_weighing_depends_on(tmp_path: Path) -> None:
    _mine(tmp_path, "a", 'workload = {scripts = {"q.sql" = 1}}')
    (tmp_path / "q.sql").write_text("SELECT 1;\n")
    one = read_matrix(_file(tmp_path, 'studies = ["mine.toml"]'))
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\n')).digest == one.digest
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\nseed = 2')).digest != one.digest
    (tmp_path / "q.sql").write_text("SELECT 2;\n")
    other = read_matrix(_file(tmp_path, 'studies = ["mine.toml"]'))
    assert other.digest != one.digest
    _mine(tmp_path, "b", 'workload = {scripts = {"q.sql" = 1}}')
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]')).digest != other.digest


def test_scripts_of_a_study_are_sent_with_it(tmp_path: Path) -> None:
    scripts = '"q.sql" = 1, "deep/r.sql" = 2, "select-only" = 1, "/srv/s.sql" = 1, "own" = 1'
    _mine(tmp_path, more=f"workload = {{scripts = {{{scripts}}}, texts = {{own = 'SELECT 3;'}}}}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "q.sql").write_text("SELECT 1;\n")
    (tmp_path / "deep" / "r.sql").write_text("SELECT 2;\n")
    (tmp_path / "own").write_text("it stands in the study")
    [cell] = read_matrix(_file(tmp_path, 'studies = ["mine.toml"]')).cells
    assert dict(cell.files).keys() == {"mine.toml", "q.sql", "deep/r.sql"}
    assert dict(cell.files)["deep/r.sql"] == "SELECT 2;\n"
    named = read_matrix(
        _file(tmp_path, "studies = ['aa']\nset = ['workload.scripts={\"q.sql\" = 1}']")
    )
    assert dict(named.cells[0].files) == {"q.sql": "SELECT 1;\n"}


@pytest.mark.parametrize(
    ("more", "arm", "words"),
    [
        ("", "colour = 1", 'unrecognized key: "arm.colour"'),
        ('address = "host=db password=secret"', "", "an address says a password"),
        ('address = "postgresql://u:secret@db/x"', "", "an address says a password"),
        ('workload = {scripts = {"deep/none.sql" = 1}}', "", "could not read .*none.sql"),
        ('workload = {scripts = {"../q.sql" = 1}}', "", "does not stand below the matrix"),
        ('workload = {name = "./load"}', "", '"workload.name" names "./load"'),
        ('source = "data"', "", '"source.place" names "data", which is on this machine'),
        ("", 'bindir = "build/bin"', '"off.bindir" names "build/bin"'),
    ],
)
def test_a_study_that_its_host_could_not_weigh_is_refused_here(
    tmp_path: Path, more: str, arm: str, words: str
) -> None:
    _mine(tmp_path, more=more, arm=arm)
    with pytest.raises(StudyError, match=words) as refused:
        read_matrix(_file(tmp_path, 'studies = ["mine.toml"]'))
    assert "secret" not in str(refused.value)


def test_a_password_in_a_key_that_is_set_is_refused_here(tmp_path: Path) -> None:
    text = 'studies = ["sessions"]\nset = ["address=host=db password=secret"]'
    with pytest.raises(StudyError, match="an address says a password") as refused:
        read_matrix(_file(tmp_path, text))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("studies = []", '"studies": '),
        ('studies = ["aa"]\nkind = "x"', '"kind": '),
        ('studies = ["aa"]\nhosts = 0', '"hosts": '),
        ('studies = ["missing.toml"]', "study file not found"),
        ('studies = ["chekcsums"]', "unrecognized study"),
        ('studies = ["aa", "aa"]', 'two weighings would be named "aa-any-1"'),
        ("studies = [", "invalid TOML"),
        ('studies = ["aa"]\nversions = ["17"]\nset = ["version=18"]', "same thing twice"),
        ('studies = ["aa"]\nset = ["price=1/h"]\n[prices]\nany = "2/h"', "same thing twice"),
    ],
)
def test_what_is_wrong_in_a_matrix_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_matrix(_file(tmp_path, text))
    with pytest.raises(StudyError, match="matrix file not found"):
        read_matrix(tmp_path / "none.toml")


def test_hosts_of_a_kind_have_its_price_in_both_arms(tmp_path: Path) -> None:
    _mine(tmp_path)
    text = 'studies = ["mine.toml"]\nkinds = ["small", "large"]\nprices = { small = "$0.08/h" }'
    small, large = read_matrix(_file(tmp_path, text)).cells
    assert small.changes[-1:] == ("price=$0.08/h",)
    priced = read_study(str(tmp_path / "mine.toml"), small.changes)
    assert {arm.price for arm in priced.every_arm} == {"0.08 USD/h"}
    assert not any("price" in change for change in large.changes)
    with pytest.raises(StudyError, match='"prices": "tiny" is none of the kinds of host'):
        read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\nprices = { tiny = "1/h" }'))
    with pytest.raises(StudyError, match='invalid price: "1 a"; accepted'):
        read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\nprices = { any = "1 a" }'))
