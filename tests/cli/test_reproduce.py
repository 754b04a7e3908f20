"""`steelyard reproduce` lists published studies, and refuses in its manner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Steelyard


def test_without_a_name_they_are_listed(steelyard: Steelyard) -> None:
    listed = steelyard("reproduce")
    assert listed.returncode == 0
    assert "read-after-insert" in listed.stdout
    told = json.loads(steelyard("reproduce", "--json").stdout)
    [one] = [each for each in told["studies"] if each["name"] == "checksums"]
    assert one["steps"][:4] == ["reading", "beyond-memory", "writing", "writing-32"]
    assert one["longer"] == ["writing", "writing-32", "writing-256", "by-backends"]
    assert one["minutes"] == 26


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("checksum",), 'Perhaps you meant "checksums"'),
        (
            ("checksums", "--only", "reeding"),
            "beyond-memory, writing, writing-32, writing-256",
        ),
        (("checksums", "--resume", "."), "cannot change a repetition"),
        (("--resume", "."), "is no repetition"),
        (("checksums", "--record", "."), "it exists"),
    ],
)
def test_what_cannot_be_repeated_is_refused(
    forked: Steelyard, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = forked("reproduce", *words)
    assert done.returncode in (2, 3)
    assert said in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []
