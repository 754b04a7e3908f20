"""Times are taken by monotonic clocks: a wall clock names and dates things, and measures nothing.

It may be set back, by hand or by NTP, in the middle of a weighing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

PACKAGE = "python/steelyard/"
MAY = {
    PACKAGE + "cli/commands/probe.py": "tells how old a probe is",
    PACKAGE + "cli/options/source_options.py": "names a base backup",
    PACKAGE + "cli/views/drive_summary.py": "dates progress lines, as pgbench's option does",
    PACKAGE + "engines/builds/added.py": "dates a build that was added",
    PACKAGE + "engines/local/cloning.py": "waits for a file system's next time stamp",
    PACKAGE + "engines/local/runs.py": "names a run",
    PACKAGE + "engines/registry.py": "dates a run",
    PACKAGE + "integrity/scrub/written_files.py": "dates a scrub and a catalogue",
    PACKAGE + "record/ledger.py": "dates a line",
    PACKAGE + "record/record.py": "names a record",
    PACKAGE + "running/world.py": "tells how old a probe is",
    PACKAGE + "tuning/probing.py": "dates a probe",
    PACKAGE + "workloads/loading/imported_data.py": "dates a copy",
    PACKAGE + "workloads/loading/template.py": "dates a load and a copy",
    "crates/driver/src/report/log.rs": "dates a log's lines, as pgbench does",
}
"""Files that read a wall clock, and for what."""
_WALL = re.compile(
    r"\btime\.(?:time|time_ns|gmtime|localtime|ctime)\(|\bdatetime\.(?:now|utcnow|today)\("
    r"|\bdate\.today\(|\bSystemTime\b|\bCLOCK_REALTIME\b"
)


def wall_clocks(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if path not in MAY and (found := _WALL.search(line)):
            yield f"{path}:{number}: {found[0]} is not used here; use a monotonic clock"


def test_only_what_names_or_dates_reads_a_wall_clock(tree: Any) -> None:
    files = [
        (path, text)
        for path, text in tree.ending(".py", ".rs")
        if path.startswith((PACKAGE, "crates/"))
    ]
    found = [message for path, text in files for message in wall_clocks(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_every_file_that_may_does(tree: Any) -> None:
    idle = [path for path in MAY if not _WALL.search(tree.text(path))]
    assert not idle


@pytest.mark.parametrize(
    "line",
    [
        "began = time.time()",
        "began = time.gmtime()",
        "began = datetime.now(UTC)",
        "let began = SystemTime::now();",
    ],
)
def test_the_rule_sees_each_wall_clock(line: str) -> None:
    [found] = wall_clocks(PACKAGE + "running/a.py", f"began = time.monotonic_ns()\n{line}\n")
    assert found.startswith(f"{PACKAGE}running/a.py:2: ")
    assert "use a monotonic clock" in found
