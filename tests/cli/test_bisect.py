"""What `steelyard history bisect` refuses, before it weighs anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Steelyard
from steelyard.cli.weighing.bisect import BISECTION, _Weighings
from steelyard.history.bisect import BisectPlan


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no study was named"),
        (("versions",), "either --along or --commits"),
        (("versions", "--along", "version=16,17"), "over 3 to 10000 places, not 2"),
        (("versions", "--along", "version=16,17,16"), '"16" stands there twice'),
        (("versions", "--along", "version"), "invalid row"),
        (("versions", "--along", "verion=16,17,18"), "verion"),
        (("versions", "--along", "version=16,17,18", "--build", "make"), "belongs to --commits"),
        (("builds", "--commits", "nowhere", "--build", "make"), "could not read commits"),
        (("builds", "--commits", "commits"), "--commits needs --build"),
        (("--resume", "."), "is no search"),
        (("versions", "--resume", "."), "cannot change a search"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    forked: Steelyard, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "commits").write_text("a1b2c3d one\nb2c3d4e two\nc3d4e5f three\n")
    done = forked("history", "bisect", *words)
    assert done.returncode in (2, 3), done.stderr
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("name", ["origin/master", "../a1b2c3d", ".git"])
def test_a_branch_with_a_slash_is_refused_before_anything_is_built(
    forked: Steelyard, tmp_path: Path, name: str
) -> None:
    (tmp_path / "commits").write_text(f"a1b2c3d one\nb2c3d4e two\n{name}\n")
    done = forked("history", "bisect", "builds", "--commits", "commits", "--build", "touch made")
    assert done.returncode == 2
    assert f'"{name}" in "commits" is no commit' in done.stderr
    assert "git log --reverse --format=%H" in done.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("study", "changes", "build", "metric"),
    [
        ("queries", (), "", "geometric_mean"),
        ("builds", ("decision.metric=latency_mean",), "make", "latency_mean"),
    ],
)
def test_a_search_says_what_its_study_decides_by(
    tmp_path: Path, study: str, changes: tuple[str, ...], build: str, metric: str
) -> None:
    """Of builds too, before one of them is made."""
    key = "bindir" if build else "version"
    campaign = BISECTION.begin(tmp_path / "mine", "usual", {})
    plan = BisectPlan(
        study=study, changes=changes, key=key, places=("16", "17", "18"), build=build, seed=1
    )
    assert _Weighings(plan, campaign).metric == metric


def test_a_build_that_failed_or_was_killed_is_made_again_and_one_that_did_not_is_not(
    tmp_path: Path,
) -> None:
    """Its server may be there all the same, without what was to be installed after it."""
    campaign = BISECTION.begin(tmp_path / "mine", "usual", {})
    build = (
        'mkdir -p "$PREFIX/bin"; touch "$PREFIX/bin/postgres"; '
        f"echo once >> {tmp_path}/times; test -e {tmp_path}/compiler"
    )
    plan = BisectPlan(study="builds", key="bindir", places=("a1", "b2", "c3"), build=build, seed=1)
    for _ in range(2):  # the second as --resume has it
        assert "status 1" in _Weighings(plan, campaign)._built("b2")
    (tmp_path / "compiler").touch()
    for _ in range(2):
        assert _Weighings(plan, campaign)._built("b2") == ""
    assert (tmp_path / "times").read_text() == "once\n" * 3
