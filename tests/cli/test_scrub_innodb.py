"""`steelyard scrub` knows InnoDB by its system tablespace, and reports it as it does PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from integrity.innodb.made import directory, table

Refused = Callable[..., str]


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
