"""What `steelyard history bisect` refuses, before it weighs anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Steelyard


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
