"""`steelyard reproduce` lists published studies, and refuses in its manner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from steelyard.cli.weighing.reproduce import resume_reproduction
from steelyard.model.errors import StudyError


def test_without_a_name_they_are_listed(steelyard: Steelyard) -> None:
    listed = steelyard("reproduce")
    assert listed.returncode == 0
    assert "read-after-insert" in listed.stdout
    told = json.loads(steelyard("reproduce", "--json").stdout)
    [one] = [each for each in told["studies"] if each["name"] == "checksums"]
    assert one["steps"][:4] == ["reading", "beyond-memory", "writing", "writing-32"]
    assert one["longer"] == ["writing", "writing-32", "writing-256", "by-backends"]
    assert one["minutes"] == 26


@pytest.mark.long
def test_claims_are_listed_beside_them_and_one_that_cannot_be_weighed_says_why(
    steelyard: Steelyard,
) -> None:
    assert "claims that are cited:\naio-cold-scan" in steelyard("reproduce").stdout
    claims = json.loads(steelyard("reproduce", "--json").stdout)["claims"]
    assert {"name", "title", "claimed", "minutes", "steps"} == set(claims[0])
    absent = steelyard("reproduce", "graviton4")
    assert absent.returncode == 0
    assert "**What cannot be told here.** It takes both machines" in absent.stdout
    told = json.loads(steelyard("reproduce", "graviton4", "--json").stdout)
    assert told["steps"] == {}
    assert told["cannot"].startswith("it takes both machines")
    refused = steelyard("reproduce", "lz4-almost-free")
    assert refused.returncode == 2
    assert "steelyard reproduce lz4-almost-free --longer" in refused.stderr


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


def test_a_repetition_of_a_step_that_is_there_no_more_is_refused(tmp_path: Path) -> None:
    """As after another version of Steelyard, or a change of one's own file."""
    plan = {"format": 1, "name": "checksums", "steps": {"renamed": ["aa"]}, "account": None}
    (tmp_path / "reproduce.json").write_text(json.dumps(plan))
    with pytest.raises(StudyError, match='checksums has no step "renamed"') as refused:
        resume_reproduction(tmp_path, None, as_json=False)
    assert refused.value.hint == "Begin anew: steelyard reproduce checksums"
