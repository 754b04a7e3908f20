"""SAFETY.md: a record that comes from elsewhere is written into only where no link leads out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hostile.conftest import Call
from record.test_ledger import HERE, add
from steelyard.cli.weighing.campaign import weigh_into
from steelyard.fleet.collecting import collect
from steelyard.history.index import read_history
from steelyard.integrity.scrub.written_files import StateFile, _require_writable
from steelyard.model.errors import RecordError, UntrustedPathError, UsageError
from steelyard.model.files.own_directory import OwnDirectory, open_to_append, write_named
from steelyard.record.ledger import LEDGER, Ledger
from steelyard.record.reader import read_recorded, read_verdict
from steelyard.record.record import Record
from steelyard.report.page import write_report
from steelyard.study.read import read_study
from thinned import thinned

KEPT = Path(__file__).parent.parent / "records" / "settings.tar.xz"
Untouched = Callable[..., AbstractContextManager[None]]
_FILTERED = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11.2, as Debian 12 has it, knows no filter."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other accounts")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record as a tarball brought it, below the folder that steelyard is called in."""
    place = tmp_path / "records" / "settings" / "2026-01-01T000000Z"
    place.parent.mkdir(parents=True)
    with tarfile.open(KEPT) as packed:
        packed.extractall(place, **_FILTERED)
    (plan,) = place.rglob("plan.json")
    if plan.parent != place:
        for file in plan.parent.iterdir():
            file.rename(place / file.name)
    return place


@thinned("name", ["report.html", ".report.html.draft", "verdict.json", ".verdict.json.draft"], 1)
def test_a_page_goes_through_no_link_that_was_planted_in_its_record(
    record: Path, victim: Path, steelyard: Call, untouched: Untouched, name: str
) -> None:
    if not (record / name).exists():
        (record / name).symlink_to(victim)
    with untouched(victim.parent):
        called = steelyard("report", str(record))
    assert called.status == 0, called.output
    assert not (record / "report.html").is_symlink()
    assert "<html" in (record / "report.html").read_text()


@pytest.mark.parametrize("name", ["slices.jsonl", "telemetry.jsonl"])
@pytest.mark.parametrize("kind", ["symbolic link", "second name", "pipe", "directory"])
def test_lines_are_appended_to_a_file_of_the_record_alone(
    tmp_path: Path, victim: Path, untouched: Untouched, name: str, kind: str
) -> None:
    planted = tmp_path / "r" / name
    planted.parent.mkdir()
    plant = {
        "symbolic link": lambda: planted.symlink_to(victim),
        "second name": lambda: os.link(victim, planted),
        "pipe": lambda: os.mkfifo(planted),
        "directory": planted.mkdir,
    }
    plant[kind]()
    content = victim.read_bytes()
    with pytest.raises(UntrustedPathError, match="will not write into") as refused:
        Record(planted.parent).append(name, {"type": "event"})
    assert refused.value.hint
    assert victim.read_bytes() == content


def test_a_ledger_that_is_a_link_is_not_appended_to(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, untouched: Untouched
) -> None:
    monkeypatch.chdir(tmp_path)
    LEDGER.parent.mkdir()
    LEDGER.symlink_to(victim)
    with untouched(victim.parent), pytest.raises(UntrustedPathError, match="it is a link"):
        add(Ledger(LEDGER), HERE, "w1", 0, [0.01])


def test_an_index_that_is_a_link_is_replaced_and_not_followed(
    record: Path, victim: Path, steelyard: Call, untouched: Untouched
) -> None:
    index = record.parent.parent / "history.jsonl"
    index.symlink_to(victim)
    with untouched(victim.parent):
        called = steelyard("history")
    assert called.status == 0, called.output
    assert not index.is_symlink()


@thinned("room", ["q", "badge", "reports"], 1)
def test_a_site_is_not_made_through_a_link_in_its_folder(
    record: Path, victim: Path, steelyard: Call, untouched: Untouched, tmp_path: Path, room: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / ".steelyard-site").touch()
    (site / room).symlink_to(victim.parent)
    with untouched(victim.parent):
        called = steelyard("site", "-o", str(site))
    assert called.status == 3
    assert f'will not write into "{site / room}": it is a link to' in called.output


@pytest.mark.long
def test_a_report_that_is_a_link_is_not_published(
    record: Path, victim: Path, steelyard: Call, tmp_path: Path
) -> None:
    (record / "report.html").unlink(missing_ok=True)
    (record / "report.html").symlink_to(victim)
    called = steelyard("site", "-o", str(tmp_path / "site"))
    assert called.status == 0, called.output
    assert not [*(tmp_path / "site" / "reports").iterdir()]


@thinned("how", ["link", "open", "other"], 1)
def test_a_record_that_is_not_of_this_account_alone_is_read_and_not_written(
    record: Path, steelyard: Call, untouched: Untouched, how: str
) -> None:
    named = record
    if how == "link":
        named = record.with_name("planted")
        named.symlink_to(record)
    elif how == "open":
        record.chmod(0o777)
    else:
        if os.geteuid() != 0:
            pytest.skip("only root gives files to other accounts")
        os.chown(record, 65534, 65534)
    with untouched(record):
        written = steelyard("report", str(named))
        judged = steelyard("report", str(named), "--rejudge")
    assert written.status == 3
    assert f'will not write into "{named}"' in written.output
    assert "HINT:" in written.output
    assert judged.status == 0, judged.output


@pytest.mark.long
def test_the_latest_link_of_a_study_is_a_name_of_its_record(
    record: Path, steelyard: Call, victim: Path, untouched: Untouched
) -> None:
    latest = record.with_name("latest")
    latest.symlink_to(record.name)
    assert steelyard("report", str(latest)).status == 0
    latest.unlink()
    latest.symlink_to(victim.parent)  # and this is none
    shutil.copytree(record, victim.parent, dirs_exist_ok=True)
    with untouched(victim.parent):
        refused = steelyard("report", str(latest))
    assert refused.status == 3
    assert "it is a link to" in refused.output


@pytest.mark.parametrize("above", ["records", "records/aa"])
@pytest.mark.parametrize("how", ["link", "open"])
def test_a_new_record_is_not_begun_below_a_link_or_where_others_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: Path, above: str, how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / above
    place.parent.mkdir(exist_ok=True)
    if how == "link":
        place.symlink_to(victim.parent)
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(UntrustedPathError, match="will not write into"):
        Record.create(None, "aa")
    assert [one.name for one in victim.parent.iterdir()] == ["victim"]


def test_a_folder_in_use_is_no_place_for_a_record(
    tmp_path: Path, steelyard: Call, untouched: Untouched
) -> None:
    (tmp_path / "pg" / "monday").mkdir(parents=True)
    with untouched(tmp_path / "pg"):
        refused = steelyard("weigh", "aa", "--budget", "20s", "--record", "pg")
    assert refused.status == 3
    assert "holds something else than a record" in refused.output


@as_root
def test_the_summary_goes_through_no_link_of_another_account(
    open_home: Path, victim: Path, untouched: Untouched
) -> None:
    link = open_home / "summary.md"
    link.symlink_to(victim)
    os.lchown(link, 65534, 65534)
    with untouched(victim.parent), pytest.raises(UntrustedPathError):
        write_named(link, "# slower")


def test_the_summary_goes_where_the_caller_leads_it(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(tmp_path / "summary.md")
    write_named(tmp_path / "link.md", "# slower")
    assert (tmp_path / "summary.md").read_text() == "# slower"


@as_root
def test_a_file_of_another_account_is_not_appended_to(open_home: Path) -> None:
    (open_home / "state").write_text("theirs")
    os.chown(open_home / "state", 65534, 65534)
    with pytest.raises(UntrustedPathError, match="belongs to account"):
        open_to_append(open_home / "state")


def test_a_draft_is_in_the_directory_that_was_opened_whatever_has_its_name_now(
    tmp_path: Path, victim: Path, untouched: Untouched
) -> None:
    place = tmp_path / "r"
    place.mkdir()
    with OwnDirectory.open(place) as directory, untouched(victim.parent):
        place.rename(tmp_path / "moved")
        place.symlink_to(victim.parent)
        directory.write("plan.json", "{}")
    assert [one.name for one in (tmp_path / "moved").iterdir()] == ["plan.json"]


HOSTILE_JSON = {
    "deep": "[" * 100_000,
    "deep objects": '{"contrasts":' * 3_000 + "1" + "}" * 3_000,
    "digits": '{"seed": ' + "9" * 5_000 + "}",
    "NaN": '{"seed": 1, "contrasts": [{"estimate_percent": NaN}]}',
    "wrong types": '{"seed": [], "contrasts": {"a": 5}}',
    "no object": "7",
    "torn": '{"seed": 1,',
    "surrogates": '{"seed": "\\ud800"}',
    "no text": "\udcff\udcfe",
}


def read_whole(directory: Path) -> None:
    """Reads what `report --rejudge` reads."""
    read_verdict(Record.open(directory))
    read_recorded(Record.open(directory))


@pytest.mark.parametrize("name", ["verdict.json", "plan.json", "environment.json"])
@pytest.mark.parametrize("case", HOSTILE_JSON)
def test_json_that_no_record_has_is_refused_in_words(record: Path, case: str, name: str) -> None:
    (record / name).write_bytes(HOSTILE_JSON[case].encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError, match=re.escape(name)):
        write_report(record)
    with pytest.raises(RecordError, match=re.escape(name)):
        read_whole(record)
    history = read_history(record.parent.parent)
    assert (len(history.entries), len(history.unread)) == (0, 1)


@thinned("words", [("report", "records/settings/latest"), ("history",)], 1)
def test_no_command_shows_where_in_the_program_such_json_was_read(
    record: Path, steelyard: Call, words: tuple[str, ...]
) -> None:
    record.with_name("latest").symlink_to(record.name)
    (record / "verdict.json").write_text(HOSTILE_JSON["deep"])
    called = steelyard(*words)
    assert "Traceback" not in called.output
    assert "nested deeper than 200 levels" in called.output


@pytest.mark.long
def test_a_forged_verdict_is_named_where_its_page_is_made(record: Path, steelyard: Call) -> None:
    assert "note:" not in steelyard("report", str(record)).output
    verdict = json.loads((record / "verdict.json").read_text())
    verdict["contrasts"][0]["estimate_percent"] = 99.0
    (record / "verdict.json").write_text(json.dumps(verdict))
    called = steelyard("report", str(record))
    assert called.status == 0
    assert "note: verdict.json is not what its measurements give" in called.output
    assert "report --rejudge" in called.output


@pytest.mark.long
def test_files_that_never_end_are_not_waited_for(record: Path, steelyard: Call) -> None:
    (record / "verdict.json").unlink()
    os.mkfifo(record / "verdict.json")
    (record / "slices.jsonl").unlink()
    (record / "slices.jsonl").symlink_to("/dev/zero")
    called = steelyard("report", str(record), limit_s=60)
    assert called.status == 3, called.output
    assert "not a regular file" in called.output


def test_a_kept_record_is_read_as_it_always_was(record: Path) -> None:
    plan = json.loads((record / "plan.json").read_text())
    assert Record.open(record).read("plan.json") == plan


def test_the_guard_sees_a_change(tmp_path: Path, untouched: Untouched) -> None:
    with pytest.raises(AssertionError), untouched(tmp_path):
        subprocess.run(["touch", str(tmp_path / "new")], check=True)


@pytest.mark.parametrize("leads", ["to a file", "nowhere"])
def test_a_catalogue_is_drafted_through_no_link(
    tmp_path: Path, victim: Path, untouched: Untouched, leads: str
) -> None:
    catalogue = tmp_path / "lsn.catalogue"
    aim = victim if leads == "to a file" else victim.with_name("new")
    links = [tmp_path / f"lsn.catalogue{end}.draft" for end in ("", ".0123456789abcdef")]
    for link in links:
        link.symlink_to(aim)
    with untouched(victim.parent):
        _require_writable(catalogue)
    assert sorted(tmp_path.glob("lsn.*")) == sorted(links), "they are nobody's drafts of ours"


def test_drafts_that_killed_scrubs_left_are_removed_a_day_later(tmp_path: Path) -> None:
    catalogue = tmp_path / "lsn.catalogue"
    old, new = (tmp_path / f"lsn.catalogue.{digit * 16}.draft" for digit in "ab")
    others = [tmp_path / "lsn.catalogue.draft", tmp_path / f"other.{'a' * 16}.draft"]
    for file in (old, new, *others):
        file.write_text("")
    for file in (old, *others):
        os.utime(file, (0, 0))
    _require_writable(catalogue)
    assert sorted(tmp_path.glob("*.draft")) == sorted([new, *others])


def test_the_state_of_a_scrub_is_appended_to_no_file_of_another_name(
    tmp_path: Path, victim: Path
) -> None:
    (tmp_path / "state").symlink_to(victim)
    content = victim.read_bytes()
    with pytest.raises((UntrustedPathError, UsageError)):
        StateFile(tmp_path / "state", 7)
    assert victim.read_bytes() == content


@thinned("words", [("fleet",), ("history",), ("history", "--json")], 1)
def test_a_host_whose_name_commands_the_terminal_is_listed_by_its_letters(
    record: Path, steelyard: Call, words: tuple[str, ...]
) -> None:
    environment = json.loads((record / "environment.json").read_text())
    environment["machine"]["hostname"] = "vm\x1b]52;c;cm0gLXJm\x07\u202e\x9b31m"
    (record / "environment.json").write_text(json.dumps(environment))
    (record / "study.toml").write_text(
        re.sub(
            r"(?m)^title = .*$",
            r'title = "\\u001b[31mred\\u202e"',
            (record / "study.toml").read_text(),
        )
    )
    called = steelyard(*words)
    assert called.status == 0, called.output
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", called.output)
    assert "settings" in called.output or "52;c" in called.output


def test_records_of_others_are_not_taken_in_through_a_link(
    record: Path, victim: Path, untouched: Untouched, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "fleet").symlink_to(victim.parent)
    with untouched(victim.parent), pytest.raises(UntrustedPathError, match="it is a link"):
        collect([record.parent], here)


def test_a_point_of_a_sweep_that_is_a_link_is_not_weighed_again_behind_it(
    tmp_path: Path, victim: Path, untouched: Untouched
) -> None:
    point = tmp_path / "points" / "2"
    point.parent.mkdir()
    point.symlink_to(victim.parent)
    with untouched(victim.parent), pytest.raises(UntrustedPathError, match="it is a link"):
        weigh_into(read_study("aa", []), 1, point, None)
