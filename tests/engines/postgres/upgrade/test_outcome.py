"""What a rehearsal came to is answered by what was tried, and words of pg_upgrade are found."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.upgrade.outcome import (
    PARTS,
    Analyzed,
    Attempt,
    Enabling,
    RehearsalFinding,
    StatisticsOutcome,
    UpgradeOutcome,
    failure_words,
    identifier,
    literal,
    psql_command,
    server_option,
    without_paths,
)
from steelyard.engines.postgres.upgrade.pg_upgrade import (
    OLD_PROGRAMS,
    TimedRun,
    parts_of,
    require_programs,
)
from steelyard.model.errors import EngineError

COPY = Attempt(
    way="copy",
    checksums=False,
    check_only=False,
    worked=True,
    seconds=12.0,
    parts=dict.fromkeys(PARTS, 2.0),
    needs_bytes=90_000_000,
    output="Upgrade Complete\n",
    initdb="--username=dba --no-data-checksums",
)
CHECK = replace(COPY, check_only=True, seconds=1.5, parts={}, needs_bytes=0)
OUTCOME = UpgradeOutcome(
    source="/srv/shop's data",
    old_version="16.14",
    new_version="18.4",
    old_bindir="OLD_BIN",
    new_bindir="/usr/lib/postgresql/18/bin",
    old_engine="bundle-16.14",
    new_engine="system-18.4",
    owner="dba",
    bytes=190_000_000,
    databases={"postgres": 7_000_000, "shop": 90_000_000},
    relations=12,
    large_objects=3,
    jobs=2,
    wal_segment_bytes=16 << 20,
    old_checksums=False,
    mismatch="old cluster does not use data checksums but the new one does",
    findings=(),
    settings=(),
    attempts=(CHECK, COPY, replace(COPY, checksums=True, seconds=10.0)),
    enabling=Enabling(3.0, 190_000_000),
    statistics=StatisticsOutcome(
        40, 38, 2, 0, (Analyzed("--all --analyze-in-stages --missing-stats-only", 0.6, 0.25),)
    ),
    start_seconds=0.25,
    extension_updates=(),
)


def test_without_anything_that_blocks_the_answer_is_yes() -> None:
    assert OUTCOME.answer == "yes"
    assert [each.way for each in OUTCOME.upgrades] == ["copy", "copy"]


def test_what_the_copy_got_over_is_done_first() -> None:
    noted = replace(OUTCOME, findings=(RehearsalFinding("note", "a tablespace"),))
    blocked = replace(OUTCOME, findings=(RehearsalFinding("blocks", "a prepared transaction"),))
    assert (noted.answer, blocked.answer) == ("yes", "after")


@pytest.mark.parametrize("attempts", [(CHECK,), (CHECK, replace(COPY, worked=False))])
def test_a_copy_that_was_not_upgraded_is_no_answer_but_no(attempts: tuple[Attempt, ...]) -> None:
    assert replace(OUTCOME, attempts=attempts, statistics=None).answer == "no"


def test_downtime_is_all_from_the_stop_to_coarse_statistics() -> None:
    _, plain, sealed = OUTCOME.attempts
    assert OUTCOME.downtime_seconds(plain) == 12.0 + 0.25 + 0.25
    assert OUTCOME.downtime_seconds(sealed) == 3.0 + 10.0 + 0.25 + 0.25
    shown = OUTCOME.to_json()["attempts"]
    assert [each.get("downtime_seconds") for each in shown] == [None, 12.5, 13.5]


FATAL = """Checking cluster versions                                     ok
Checking for presence of required libraries                   fatal

Your installation references loadable libraries that are missing from the
new installation.
Failure, exiting
"""


def test_a_refusal_is_quoted_from_the_step_that_failed_on() -> None:
    words = failure_words(FATAL).splitlines()
    assert words[0].startswith("Checking for presence of required libraries")
    assert words[-1] == "new installation."
    assert replace(COPY, worked=False, output=FATAL).reason == "\n".join(words)
    assert COPY.reason == ""


def test_names_of_others_stay_in_quotes_in_what_is_to_be_typed() -> None:
    gid = "it's $(touch /tmp/x) \"`id`"
    line = psql_command(f"ROLLBACK PREPARED {literal(gid)}", "my shop; ls")
    words = shlex.split(line)
    assert words[:4] == ["psql", "-d", "my shop; ls", "-c"]
    assert words[4] == "ROLLBACK PREPARED 'it''s $(touch /tmp/x) \"`id`'"
    assert identifier('a"b') == '"a""b"'


@pytest.mark.parametrize(
    "path", ["/etc/postgresql/16/main/postgresql.conf", "/srv/my conf/it's.conf"]
)
def test_a_server_whose_configuration_is_elsewhere_is_given_it_by_a_shell_twice(path: str) -> None:
    """By the user's, and by that of pg_ctl or pg_upgrade, which pass the option on to a shell."""
    assert server_option("") == ""
    words = shlex.split(f"pg_upgrade -d DATA{server_option(path)}")
    assert words[:4] == ["pg_upgrade", "-d", "DATA", "-o"]
    assert shlex.split(words[4]) == ["-c", f"config_file={path}"]


def test_paths_of_the_rehearsal_are_not_shown() -> None:
    names = [("/c/run/old", "OLD"), ("/c/run/old/data", "OLD_DATA")]
    assert without_paths("in /c/run/old/data and /c/run/old", names) == "in OLD_DATA and OLD"


def test_a_build_without_programs_that_pg_upgrade_calls_names_them(tmp_path: Path) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).touch()
    build = Build(tmp_path, "bindir")
    engine = SimpleNamespace(build=build, identity=SimpleNamespace(version="18.4"))
    with pytest.raises(EngineError, match=r"pg_ctl, pg_controldata, pg_resetwal missing") as raised:
        require_programs(engine, OLD_PROGRAMS, "--old-bindir")  # type: ignore[arg-type]
    assert "postgresql-client-18" in str(raised.value.hint)
    assert "--old-bindir DIR" in str(raised.value.hint)


def test_parts_add_up_to_the_whole_and_go_to_the_step_that_ended() -> None:
    lines = (
        (1.0, "Checking cluster versions    ok"),
        (2.5, "Creating dump of database schemas    ok"),
        (3.0, "Checking for presence of required libraries    ok"),
        (3.0, "Performing Upgrade"),
        (4.0, "Analyzing all rows in the new cluster    ok"),
        (6.0, "Restoring database schemas in the new cluster    ok"),
        (9.0, "Copying user relation files    ok"),
        (9.5, "Sync data directory to disk    ok"),
    )
    parts = parts_of(TimedRun(0, 10.0, lines))
    assert tuple(parts) == PARTS
    assert tuple(parts.values()) == (1.5, 1.5, 1.5, 2.0, 3.0, 0.5)
    assert sum(parts.values()) == 10.0
