"""`steelyard doctor` says at once how long it looks, and on standard output what it saw."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from steelyard.cli.commands import doctor, probe
from steelyard.model.errors import UsageError


def test_it_says_at_once_for_how_long_it_looks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "steelyard", "doctor", str(tmp_path), "--seconds", "600"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.kill()  # it would go on looking for ten minutes
    assert said == "looking for 600 s at what else runs here\n"


def test_standard_output_is_the_findings_alone(steelyard: Steelyard) -> None:
    said = steelyard("doctor", ".", "--seconds", "0.1", "--no-write", "--json")
    assert said.returncode in (0, 1)
    assert {"name", "level", "seen", "advice"} <= json.loads(said.stdout)["findings"][0].keys()
    assert said.stderr == "looking for 0.1 s at what else runs here\n"


@pytest.mark.parametrize(
    "command",
    [
        lambda place: doctor.doctor(place, seconds=0.1, write=False),
        lambda place: probe.probe(place, last=True),
    ],
)
def test_a_place_below_another_accounts_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[[Path], None]
) -> None:
    """As /var/lib/pgsql is closed to all but the server's account, whatever is below it."""
    place, real = tmp_path / "pgsql/data", Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.is_relative_to(place):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(UsageError, match=r"could not read .*pgsql/data.*: Permission") as no:
        command(place)
    assert no.value.hint == (
        "Run as the account that it belongs to, or as root, or name another directory of the same "
        "disk."
    )
