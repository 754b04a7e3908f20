"""A matrix is every study on every kind of host with every version; what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.fleet.matrix.matrix import read_matrix
from steelyard.model.errors import StudyError


def _file(folder: Path, text: str) -> Path:
    file = folder / "matrix.toml"
    file.write_text(text)
    return file


def test_cells_are_all_combinations_each_with_a_seed_and_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("title = 'mine'\n")
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
    assert first.arguments("checksums", Path("r")) == [
        "weigh", "checksums",
        "--set", "workload.scale=5", "--set", "budget.measuring=1m",
        "--set", "control.version=17", "--set", "arm.version=17",
        "--seed", "100", "--record", "r",
    ]  # fmt: skip
    assert first.text is None
    assert {cell.text for cell in cells if cell.study == "mine.toml"} == {"title = 'mine'\n"}


def test_the_digest_is_of_everything_that_a_weighing_depends_on(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("title = 'a'\n")
    one = read_matrix(_file(tmp_path, 'studies = ["mine.toml"]'))
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\n')).digest == one.digest
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]\nseed = 2')).digest != one.digest
    (tmp_path / "mine.toml").write_text("title = 'b'\n")
    assert read_matrix(_file(tmp_path, 'studies = ["mine.toml"]')).digest != one.digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("studies = []", '"studies": '),
        ('studies = ["aa"]\nkind = "x"', '"kind": '),
        ('studies = ["aa"]\nhosts = 0', '"hosts": '),
        ('studies = ["missing.toml"]', "study file not found"),
        ('studies = ["aa", "aa"]', 'two weighings would be named "aa-any-1"'),
        ("studies = [", "invalid TOML"),
    ],
)
def test_what_is_wrong_in_a_matrix_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_matrix(_file(tmp_path, text))
    with pytest.raises(StudyError, match="matrix file not found"):
        read_matrix(tmp_path / "none.toml")
