"""A scrub is resumed on the copy of a cluster that it was begun on, and judged as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.made_files import control_file, mapped_cluster_at
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

LABEL = "START WAL LOCATION: {} (file 000000010000000000000002)\n"


class EndedError(Exception):
    pass


def end(*_: int) -> None:
    raise EndedError


def scrubbed(path: Path, state: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0, state=state), lambda *_: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return mapped_cluster_at(tmp_path / "data")


@pytest.fixture
def state(data: Path, tmp_path: Path) -> Path:
    """Of a scrub that was ended."""
    place = tmp_path / "state"
    with pytest.raises(EndedError):
        scrub(ScrubRequest(data, max_rate=0.0, state=place), end)
    assert place.exists()
    return place


def test_it_goes_on_where_it_was_also_by_another_name_of_the_directory(
    data: Path, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(data)
    assert scrubbed(tmp_path / "link", state).exit_status == 0
    assert not state.exists()


def test_the_state_of_another_copy_of_the_cluster_is_refused(
    data: Path, state: Path, tmp_path: Path
) -> None:
    standby = mapped_cluster_at(tmp_path / "standby")
    with pytest.raises(UsageError, match="not of a scrub of this cluster") as refused:
        scrubbed(standby, state)
    assert refused.value.detail == f'It is of a scrub of "{data}".'
    assert "remove it to begin anew" in (refused.value.hint or "")
    assert state.exists()


def test_what_was_read_without_checksums_is_not_left_out_with_them(data: Path, state: Path) -> None:
    (data / "global/pg_control").write_bytes(control_file(checksums=1))
    with pytest.raises(UsageError, match="not of a scrub") as refused:
        scrubbed(data, state)
    assert "Checksums were turned on or off since" in (refused.value.detail or "")


def test_the_next_backup_in_the_same_place_is_another_copy(data: Path, tmp_path: Path) -> None:
    state, label = tmp_path / "state", data / "backup_label"
    label.write_text(LABEL.format("0/2000028"), encoding="utf-8")
    with pytest.raises(EndedError):
        scrub(ScrubRequest(data, max_rate=0.0, state=state), end)
    label.write_text(LABEL.format("0/4000028"), encoding="utf-8")
    with pytest.raises(UsageError, match="not of a scrub") as refused:
        scrubbed(data, state)
    assert "an earlier backup" in (refused.value.detail or "")
    label.write_text(LABEL.format("0/2000028"), encoding="utf-8")
    assert scrubbed(data, state).exit_status == 0


@pytest.mark.parametrize(
    "text", ['{"format": 1, "scrub_of": 7, "began": "yesterday"}\n', "7\n", "[]\n", "words\n"]
)
def test_what_is_no_state_of_this_format_is_refused(text: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="not of a scrub of this cluster"):
        scrubbed(data, tmp_path / "state")
