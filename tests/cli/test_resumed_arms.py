"""A weighing that goes on has every arm that it began with, or is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.cli.options.study_resolution import StudyRequest, resolve_study
from steelyard.engines import adapters
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import MissingFeature
from steelyard.model.errors import UsageError
from steelyard.study.read import read_study, write_study
from steelyard.telemetry.doctor import kernel
from story.noop.engine import NoopEngine


class Machine:
    """Builds of which each lacks what is named."""

    def __init__(self, *lacks: str) -> None:
        self.lacks = {need: MissingFeature(f"made without {need}", f"add {need}") for need in lacks}

    def find_arms(
        self, requests: Sequence[BuildRequest], account: str | None, *, contrib: bool
    ) -> list[NoopEngine]:
        engines = [NoopEngine() for _ in requests]
        for engine in engines:
            engine.lacks = self.lacks
        return engines


def record_of(study: str, directory: Path) -> Path:
    directory.mkdir()
    (directory / "study.toml").write_text(write_study(read_study(study)))
    (directory / "plan.json").write_text("{}")
    return directory


def resume(record: Path) -> list[str]:
    """The arms of the weighing that goes on."""
    study = resolve_study(StudyRequest(None, (), None, None, record, None, agreed=False))
    return [arm.name for arm in study.arms]


@pytest.mark.parametrize(
    ("study", "lacks", "refusal", "arm", "hint"),
    [
        ("io-method", (), ("forbidden", "sysctl"), "io_uring", "sysctl"),
        ("io-method", ("io_uring",), None, "io_uring", "add io_uring"),
        ("wal-compression", ("zstd",), None, "zstd", "add zstd"),
        ("wal-compression", ("lz4", "zstd"), None, "lz4", "add lz4"),
    ],
)
def test_an_arm_that_cannot_be_had_any_more_is_not_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    study: str,
    lacks: tuple[str, ...],
    refusal: tuple[str, str] | None,
    arm: str,
    hint: str,
) -> None:
    record = record_of(study, tmp_path / "record")
    monkeypatch.setattr(adapters, "adapter", lambda name: Machine(*lacks))
    monkeypatch.setattr(kernel, "io_uring_refusal", lambda: refusal)
    with pytest.raises(UsageError, match=f'arm "{arm}" cannot be weighed, since') as refused:
        resume(record)
    assert refused.value.primary.startswith(f'cannot resume "{record}"')
    assert refused.value.hint == hint
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize("study", ["io-method", "wal-compression"])
def test_where_all_can_be_had_all_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str
) -> None:
    monkeypatch.setattr(adapters, "adapter", lambda name: Machine())
    monkeypatch.setattr(kernel, "io_uring_refusal", lambda: None)
    every = [arm.name for arm in read_study(study).arms]
    assert resume(record_of(study, tmp_path / "record")) == every
