"""The copy that a line of the server log names is found in every version."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.integrity.drill import checks


@pytest.mark.parametrize(
    "words",
    [
        'ERROR:  invalid page in block 0 of relation "base/5/16388"',
        "WARNING:  invalid page in block 0 of relation base/5/16388; zeroing out page",
        'ERROR:  could not read block 3 in file "base/5/16388": read only 0 of 8192 bytes',
    ],
)
def test_the_log_names_the_file_whatever_the_version(tmp_path: Path, words: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(f"of before: {words}\n")
    since = log.stat().st_size
    cluster: Any = SimpleNamespace(
        slot=SimpleNamespace(path=tmp_path),
        files={(0, "heap"): "base/5/1638", (3, "heap"): "base/5/16388"},
    )
    assert checks.detect_in_server_log(cluster, since) == set()
    with log.open("a") as file:
        file.write(f"2026-11-22 UTC {words}\n")
    assert checks.detect_in_server_log(cluster, since) == {3}
