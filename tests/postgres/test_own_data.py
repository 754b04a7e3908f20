"""Weighings on a copy of somebody's data: made by real pgbench, taken in, weighed, resumed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from underway import Underway

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original
from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
SCRIPT = "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
UNLIKE = ("--set", "arm.settings.random_page_cost=3")
BRIEF = ("--budget", "20s", "--set", "budget.slice=50ms", "--set", "layout=slices")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    """pgbench's tables at scale 1, filled by pgbench itself, in a stopped server of 16."""
    home = Path("/tmp") / f"syt-bank-{tmp_path_factory.getbasetemp().name}"
    home.mkdir(mode=0o711)
    try:
        original = original_at(home, "16")
        original.make()
        with original.running():
            original.ask("CREATE DATABASE bank")
            original.program(
                "pgbench", "-i", "-q", "-s", "1", "-h", str(original.sockets), "-p", str(PORT),
                "-U", OWNER, "bank",
            )  # fmt: skip
            original.program(
                "pg_dump", "-Fc", "-h", str(original.sockets), "-p", str(PORT), "-U", OWNER,
                "-f", str(original.sockets / "bank.dump"), "bank",
            )  # fmt: skip
        original.sockets.chmod(0o711)
        (original.sockets / "bank.dump").chmod(0o644)
        yield original
    finally:
        shutil.rmtree(home, ignore_errors=True)


def weighed(start: Start, record: str, *words: str) -> tuple[Underway, dict[str, object]]:
    """A weighing of `settings` that ended well, and what its record knows of the data."""
    weighing = start(record, "settings", *UNLIKE, *words)
    assert weighing.end() == 0, weighing.said
    environment = json.loads((weighing.record / "environment.json").read_text())
    return weighing, environment["source"]


def test_a_stopped_directory_of_another_version_is_weighed_with_a_script(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    weighing, source = weighed(
        start, "record", "--from", str(bank.directory), "-f", "one.sql",
        "--set", "arm.settings.work_mem=8MB", *BRIEF,
    )  # fmt: skip
    assert (source["kind"], source["major"], source["database"]) == ("data directory", "16", "bank")
    environment = json.loads((weighing.record / "environment.json").read_text())
    versions = {one["build"]["version"].split(".")[0] for one in environment["arms"].values()}
    assert versions == {"16"}
    assert weighing.verdict["contrasts"][0]["epochs"] >= 8
    assert "bank" in (weighing.record / "report.html").read_text()
    assert "data directory" in (weighing.record / "report.html").read_text()


def test_a_killed_weighing_goes_on_without_the_original(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    moved = tmp_path / "theirs"
    shutil.copytree(bank.directory, moved, symlinks=True)
    words = ("--from", str(moved), "-f", "one.sql", "--set", "arm.settings.work_mem=8MB", *BRIEF)
    weighing = start("killed", "settings", *UNLIKE, *words)
    weighing.in_the_middle_of(2)
    weighing.process.send_signal(signal.SIGKILL)
    weighing.process.communicate()
    shutil.rmtree(moved)
    again = start("killed", "--resume", str(weighing.record))
    assert again.end() == 0, again.said
    kept = Record(weighing.record).lines("slices.jsonl")
    assert {one["epoch"] for one in kept if one["kind"] == "measured"} >= set(range(8))


def test_a_dump_is_weighed_as_the_workload_that_it_holds_and_checked(
    start: Start, bank: Original
) -> None:
    """Each arm's balances add up afterwards: pgbench's own checks hold on the copy."""
    weighing, source = weighed(
        start, "record", "--from", str(bank.sockets / "bank.dump"), "--set", "workload=pgbench",
        "--set", "workload.scale=1", "--set", "workload.scripts={tpcb-like=1}",
        "--set", "arm.settings.work_mem=8MB", *BRIEF,
    )  # fmt: skip
    assert source["kind"] == "dump"
    assert all(
        threat["name"] != "work not done" for threat in weighing.verdict["contrasts"][0]["threats"]
    )


def test_statistics_of_a_dump_are_gathered_by_the_servers_target(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    """The script fails, and so is refused, where a histogram has other than seven parts."""
    (tmp_path / "theirs.conf").write_text("default_statistics_target = 7\n")
    (tmp_path / "seven.sql").write_text(
        "SELECT 1 / count(*)::int FROM pg_stats WHERE attname = 'aid'"
        " AND array_length(histogram_bounds::text::int[], 1) = 8;\n"
    )
    weighed(
        start, "record", "--from", str(bank.sockets / "bank.dump"), "--config", "theirs.conf",
        "-f", "seven.sql", "--set", "arm.settings.work_mem=8MB", *BRIEF,
    )  # fmt: skip


def test_a_running_server_is_copied_only_when_somebody_agrees(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    with bank.running("max_wal_senders=4", "wal_level=replica"):
        words = ("--from", bank.target, "--database", "bank", "-f", "one.sql", *BRIEF)
        refused = start("no", "aa", *words)
        assert refused.end() == 2
        assert "not agreed to: a base backup of PostgreSQL 16" in refused.said
        weighing = start("yes", "aa", "--yes", *words)
        assert weighing.end() == 0, weighing.said
    environment = json.loads((weighing.record / "environment.json").read_text())
    assert environment["source"]["kind"] == "base backup"
    (settings,) = (weighing.cache / "templates").glob("backup-*")
    assert settings.suffix == ".conf", "the backup was taken in; its settings serve --resume"
    assert settings.stat().st_mode & 0o777 == 0o600
    study = (weighing.record / "study.toml").read_text()
    assert "password" not in study


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--database", "x"), "belongs to --from"),
        (("--from", "DIRECTORY"), "nothing is to be driven"),
        (("--from", "nothing", "-f", "one.sql"), "there is nothing"),
        (("--set", "workload=own", "-f", "one.sql"), "has no data of its own"),
        (("--from", "DIRECTORY", "--database", "bnk", "-f", "one.sql"), 'no database "bnk"'),
    ],
)
def test_what_cannot_be_weighed_is_said_before_anything_is_measured(
    start: Start, bank: Original, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    given = [str(bank.directory) if word == "DIRECTORY" else word for word in words]
    weighing = start("record", "aa", *given, *BRIEF)
    assert weighing.end() in (2, 3), weighing.said
    assert said in weighing.said
    assert not (weighing.record / "plan.json").exists()


def test_the_same_files_need_no_second_copy_and_changed_ones_are_refused(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    first, _ = weighed(start, "one", "--from", str(bank.directory), "-f", "one.sql", *BRIEF)
    again = start("two", str(first.record / "study.toml"), *BRIEF)
    assert again.end() == 0, again.said
    assert "copy the data" not in again.said
    cleared = subprocess.run(
        ["rm", "-rf", *map(str, (first.cache / "templates").glob("*-from-*"))], check=False
    )
    assert cleared.returncode == 0
    (bank.directory / "base" / "1" / "PG_VERSION").touch()
    refused = start("three", str(first.record / "study.toml"), *BRIEF)
    assert refused.end() == 3
    assert "it is not what it was" in refused.said


def test_one_slow_query_is_weighed_by_executions_of_one_client(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    """0.3 s and more in the server, which no slice by time holds 200 times."""
    (tmp_path / "q.sql").write_text(
        "SELECT pg_sleep(0.25), sum(sqrt(abalance + aid)) FROM pgbench_accounts;\n"
    )
    weighing, _ = weighed(
        start, "record", "--from", str(bank.directory), "-f", "q.sql", "--budget", "20s",
        "--set", "arm.settings.work_mem=8MB",
    )  # fmt: skip
    plan = json.loads((weighing.record / "plan.json").read_text())
    assert (plan["counted"]["each"], plan["counted"]["clients"]) == (1, 1)
    assert "an execution takes about" in weighing.said
    assert "slices of 1 execution (about" in weighing.said
    lines = list(Record(weighing.record).lines("slices.jsonl"))
    measured = [one for one in lines if one["kind"] == "measured"]
    assert {(one["transactions"], one["clients"]) for one in measured} == {(1, 1)}
    [contrast] = weighing.verdict["contrasts"]
    assert plan["epochs"] == 10
    assert contrast["epochs"] in (8, 10)  # of the two looks
    assert contrast["low_percent"] < contrast["estimate_percent"] < contrast["high_percent"]


def test_the_servers_own_settings_are_weighed_anew_after_each_edit_without_a_new_copy(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    """Above the study's own 128 MB; where they are missing, a doubt says what to type."""
    (tmp_path / "one.sql").write_text(SCRIPT)
    config = tmp_path / "theirs.conf"
    words = ("--from", str(bank.directory), "--config", str(config), "-f", "one.sql", *BRIEF)

    def settings(record: str) -> tuple[Underway, dict[str, str]]:
        weighing, _ = weighed(start, record, *words)
        environment = json.loads((weighing.record / "environment.json").read_text())
        return weighing, environment["arms"]["as-it-stands"]["settings"]

    config.write_text("shared_buffers = 48MB\nwork_mem = 11MB\nfoo_bar = 1\nssl = on\n")
    first, had = settings("first")
    assert (had["shared_buffers"], had["work_mem"]) == ("6144 8kB", "11264 kB")
    # With those of the command line that it was started by last: its port, its sockets.
    assert re.search(r"note: \d+ settings left out, 1 replaced: in the report", first.said)
    config.write_text("shared_buffers = 48MB\nwork_mem = 22MB\n")
    second, had = settings("second")
    assert had["work_mem"] == "22528 kB"
    assert "copy the data" not in second.said
    config.write_text("shared_buffers = 48MB\nwork_mem = 33MB\n")
    refused = start("third", str(second.record / "study.toml"), *BRIEF)
    assert refused.end() == 3
    assert "the settings of its server are others" in refused.said
    report = (first.record / "report.html").read_text()
    assert "foo_bar" in report


def test_data_without_the_servers_settings_are_a_doubt_wherever_the_verdict_is_read(
    start: Start, bank: Original, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text(SCRIPT)
    backup = tmp_path / "backup"
    shutil.copytree(bank.directory, backup)
    (backup / "postgresql.conf").unlink()
    (backup / "postmaster.opts").unlink()
    words = ("--from", str(backup), "-f", "one.sql", *BRIEF)
    for record in ("copied", "found again"):
        weighing, _ = weighed(
            start, record, *words, "--summary", f"{record}.md", "--junit", f"{record}.xml"
        )
        told = [weighing.said, (weighing.record / "report.html").read_text()]
        told += [(tmp_path / f"{record}.{form}").read_text() for form in ("md", "xml")]
        for text in told:
            assert "settings not the server" in text
            assert "/etc/postgresql/16/main/postgresql.conf" in text.replace("\\_", "_")
