"""`steelyard scrub` knows InnoDB by its system tablespace, and reports it as it does PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integrity.innodb.made import directory, table

Refused = Callable[..., str]


@pytest.mark.long
def test_status_words_and_json_say_the_same(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    pages = table(5, 9)
    sound = steelyard("scrub", str(directory(tmp_path / "sound", {"t": pages})))
    assert sound.returncode == 0, sound.stderr
    assert ": InnoDB, stopped\n" in sound.stdout
    assert "sound pages by what they carry: none 29\n" in sound.stdout
    assert sound.stdout.endswith("no damage found\n")
    pages[3] = pages[4]
    data = directory(tmp_path / "damaged", {"t": pages})
    words = steelyard("scrub", str(data))
    facts = steelyard("scrub", str(data), "--json", "--threads", "2", "--max-rate", "1GB")
    assert (words.returncode, facts.returncode) == (1, 1)
    told = json.loads(facts.stdout)
    assert {"files", "blocks", "seconds", "bytes", "bad", "skipped"} <= told.keys()
    (bad,) = told["bad"]
    assert (bad["path"], bad["block"], bad["reason"]) == ("d/t.ibd", 3, "misplaced")
    assert (bad["expected"], bad["found"]) == (3, 4)
    assert told["carried"] == {"none": 28}
    assert "page 3 of d/t.ibd: it bears the number 4" in words.stdout


def test_what_only_clusters_of_postgresql_have_is_refused(refused: Refused, tmp_path: Path) -> None:
    data = str(directory(tmp_path, {}))
    assert "--base-backup is for PostgreSQL" in refused("scrub", data, "--base-backup")
    assert "--catalogue is for PostgreSQL" in refused("scrub", data, "--catalogue", "c")
    assert "invalid rate" in refused("scrub", data, "--max-rate", "fast")


def changed(page: bytes, at: int, *halves: int) -> bytes:
    """With words of two bytes from `at` on."""
    content = b"".join(half.to_bytes(2, "big") for half in halves)
    return page[:at] + content + page[at + len(content) :]


@pytest.mark.long
def test_pages_that_cannot_be_verified_are_in_no_clean_verdict(
    steelyard: Callable[..., Any], tmp_path: Path
) -> None:
    """Of a tablespace that MySQL encrypted: the sum is that of the plain page."""
    pages = table(5, 9)
    pages[0] = changed(pages[0], 54, 0, 3 << 6 | 0x21 | 1 << 13)
    for number in (4, 6):
        pages[number] = changed(changed(pages[number], 24, 15), 0, 1, 2)
    data = directory(tmp_path, {"t": pages})
    words = steelyard("scrub", str(data))
    assert words.returncode == 0, words.stderr
    assert words.stdout.endswith("no damage found in what was verified: 2 pages were not\n")
    assert "note: 2 pages are encrypted" in words.stdout
    facts = json.loads(steelyard("scrub", str(data), "--json").stdout)
    assert (facts["not_verified"], facts["carried"]["not verified: encrypted"]) == (2, 2)


def test_what_is_skipped_beyond_the_first_ones_is_counted(
    steelyard: Callable[..., Any], tmp_path: Path
) -> None:
    data = directory(tmp_path, {"t": table(5, 9)})
    for number in range(1, 24):
        (data / f"#ib_{number}.dblwr").write_bytes(b"copies")
    words = steelyard("scrub", str(data))
    assert words.returncode == 0, words.stderr
    assert words.stdout.count("\nskipped: ") == 20
    assert "... and 3 more skipped; --json lists them\n" in words.stdout
