"""Two directories of `steelyard weigh builds` become two arms, or one clear error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from steelyard.cli.options.weigh_options import build_changes
from steelyard.engines.postgres.builds.build import bundled_builds
from steelyard.model.errors import EngineError, UsageError
from steelyard.study.read import read_study

NEW, OLD = sorted((build.bindir for build in bundled_builds()), key=lambda b: "18" not in str(b))


def test_two_directories_are_the_bindirs_of_the_two_arms() -> None:
    changes = build_changes("builds", NEW, NEW.parent, None)  # the one above bin will do
    study = read_study("builds", changes)
    assert (study.control.bindir, study.arms[0].bindir) == (str(NEW), str(NEW))
    assert study.defaults == "as-shipped"


def test_a_path_of_any_letters_stays_what_it_is() -> None:
    with tempfile.TemporaryDirectory(prefix="sytest") as home:
        Path(home).chmod(0o711)  # the account of servers passes through
        odd = Path(home) / 'a "build" = \\x'
        odd.symlink_to(NEW)
        study = read_study("builds", build_changes("builds", odd, NEW, None))
    assert study.control.bindir == str(odd)


@pytest.mark.parametrize(
    ("control", "arm", "missing"), [(None, NEW, "--control"), (NEW, None, "--arm"),
                                    (None, None, "--control")]
)  # fmt: skip
def test_a_missing_directory_is_named(control: Path | None, arm: Path | None, missing: str) -> None:
    with pytest.raises(UsageError, match=f"{missing} BINDIR is missing") as caught:
        build_changes("builds", control, arm, None)
    assert "--control ./master/bin --arm ./patched/bin" in (caught.value.hint or "")


def test_other_studies_take_no_directories() -> None:
    assert build_changes("checksums", None, None, None) == []
    for study in ("checksums", None):
        with pytest.raises(UsageError, match="belong to study builds"):
            build_changes(study, NEW, None, None)


def test_two_major_versions_are_a_study_of_their_own() -> None:
    with pytest.raises(UsageError, match=r"PostgreSQL 16\.\d+ against 18\.\d+ as two builds") as no:
        build_changes("builds", NEW, OLD, None)
    assert f"weigh versions --set control.bindir={NEW} --set arm.bindir={OLD}" in str(no.value)


def test_a_directory_without_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match='"postgres" is missing'):
        build_changes("builds", NEW, tmp_path, None)


def test_the_study_is_select_only_in_memory_by_prepared_statements() -> None:
    study = read_study("builds")
    assert study.workload.scripts == {"select-only": 1}
    assert study.workload.mode == "prepared"
    assert study.settings["shared_buffers"] == "512MB"  # its 300 MB fit
