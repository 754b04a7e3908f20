"""What is removed while it is scrubbed, and no server runs there, is said not to have been read."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integrity.innodb.made import directory as innodb_at
from integrity.innodb.made import table
from integrity.made_files import empty_page, mapped_cluster_at
from steelyard.cli.views.scrubbed import render
from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.integrity.scrub.unread import disappearances

LABEL = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
PAGE = 8192
Change = Callable[[], object]


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0), lambda *_: None)


def meanwhile(monkeypatch: pytest.MonkeyPatch, scan: str, change: Change) -> None:
    """Make a change after everything was listed, and before the first page is read."""
    module, _, name = scan.rpartition(".")
    original = getattr(__import__(module, fromlist=[name]), name)

    def changed(*arguments: Any) -> Any:
        change()
        return original(*arguments)

    monkeypatch.setattr(scan, changed)


@pytest.fixture(params=["stopped", "base backup"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = mapped_cluster_at(tmp_path / "data")
    (made / "base/5/16390").write_bytes(empty_page() * 9)
    if request.param == "base backup":
        (made / "backup_label").write_text(LABEL, encoding="utf-8")
    sound = scrubbed(made)
    assert (sound.run_state.value, sound.exit_status) == (request.param, 0)
    assert "no damage found" in render(sound).splitlines()
    return made


SCAN = "steelyard.integrity.scrub.scrub.scan_segments"


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        (lambda data: (data / "base/5/16390").unlink(), ["base/5/16390"]),
        (lambda data: os.truncate(data / "base/5/16390", 4 * PAGE), ["."]),
        (lambda data: shutil.rmtree(data / "base/5"), ["base/5/16384", "base/5/16390"]),
    ],
    ids=["removed", "cut off", "a database removed"],
)
def test_a_file_that_goes_is_not_called_sound(
    change: Callable[[Path], None],
    labels: list[str],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meanwhile(monkeypatch, SCAN, lambda: change(data))
    outcome = scrubbed(data)
    assert sorted(label.replace(str(data), ".") for label, _ in outcome.denied) == labels
    assert (outcome.bad_blocks, outcome.exit_status) == (0, 3)
    assert "no damage found in what was read" in render(outcome)


def test_a_directory_that_goes_is_not_called_sound_nor_its_server_started(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, SCAN, lambda: shutil.rmtree(data))
    outcome = scrubbed(data)
    assert (outcome.blocks, outcome.bad, outcome.exit_status) == (0, (), 3)
    assert not any("a server was started" in note for note in outcome.notes)
    assert {"base/5/16384", "base/5/16390"} <= {label for label, _ in outcome.denied}


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
@pytest.mark.parametrize("left", [0, 3 * PAGE, None])
def test_an_archive_that_goes_is_not_called_sound(
    left: int | None, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = mapped_cluster_at(tmp_path / "data")
    (made / "backup_label").write_text(LABEL, encoding="utf-8")
    (made / "base/5/16390").write_bytes(empty_page() * 400)
    archive = tmp_path / f"backup/base.{suffix}"
    archive.parent.mkdir()
    with tarfile.open(tmp_path / "made.tar", "w") as opened:
        opened.add(made, ".")
    content = (tmp_path / "made.tar").read_bytes()
    archive.write_bytes(content if suffix == "tar" else gzip.compress(content, 0))
    sound = scrubbed(archive.parent)
    assert (sound.bad, sound.denied, sound.exit_status) == ((), (), 0)

    def change() -> None:
        if left is None:
            archive.unlink()
        else:
            os.truncate(archive, left)

    scans = {"tar": SCAN, "tar.gz": "steelyard.integrity.scrub.backup.archives.scan_compressed"}
    meanwhile(monkeypatch, scans[suffix], change)
    outcome = scrubbed(archive.parent)
    assert outcome.blocks < sound.blocks
    assert outcome.denied != ()
    assert outcome.exit_status == (1 if outcome.bad else 3)  # a page was cut in two


def test_a_tablespace_of_innodb_that_goes_is_not_called_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = innodb_at(tmp_path, {"t": table(5, 9), "u": table(6, 9)})

    def change() -> None:
        (made / "d/t.ibd").unlink()
        (made / "ibdata1").unlink()

    meanwhile(monkeypatch, "steelyard.integrity.innodb.scrub.scan_innodb", change)
    outcome = scrub_innodb(InnodbRequest(made), lambda *_: None)
    assert sorted(label for label, _ in outcome.denied) == ["d/t.ibd", "ibdata1"]
    assert (outcome.bad, outcome.exit_status) == ((), 3)


def test_what_could_not_be_opened_is_not_counted_as_cut_off() -> None:
    sizes = [("a", 10), ("b", 20), ("c", 40)]
    for read, vanished, denied, wanted in (
        (70, [], [], []),
        (75, [], [], []),  # a last page was completed since
        (60, ["a"], [], ["a"]),
        (40, ["a"], [("b", "no right")], ["a"]),
        (39, ["a"], [("b", "no right")], ["a", "data"]),
    ):
        lines = disappearances(
            Path("data"), sizes, read_bytes=read, vanished=vanished, denied=denied
        )
        assert [label for label, _ in lines] == wanted
    assert "1 bytes were cut off" in lines[-1][1]
