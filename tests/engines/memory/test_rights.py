"""How memory can be capped is found by trying it; what was refused is said."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.memory.conftest import MB
from steelyard.engines.account import Account, choose_account
from steelyard.engines.capabilities.memory import MemoryCap
from steelyard.engines.memory.rights import choose_cap
from steelyard.model.errors import EngineError


@pytest.fixture
def ourselves() -> Account:
    return Account("ourselves", os.geteuid(), os.getegid())


def test_a_real_cap_leaves_nothing_of_its_trial(
    place: Path, real_cap: Callable[[int], MemoryCap]
) -> None:
    cap = real_cap(64 * MB)
    assert cap.size_bytes == 64 * MB
    assert [path.name for path in place.iterdir()] == ["slot0"]
    if cap.parent is not None:
        assert not list(cap.parent.glob(f"steelyard-{place.name}-*"))


def test_version_2_takes_the_nearest_group_that_hands_memory_on(
    paper_kernel: Path, place: Path, ourselves: Account
) -> None:
    """The own group has processes, so that nothing can be capped beneath it."""
    cap = choose_cap(400 * MB, ourselves, place, paper_kernel)
    assert cap == MemoryCap(400 * MB, "v2", paper_kernel / "sys/fs/cgroup/user.slice")


def test_systemd_is_asked_where_it_rules_the_groups(
    paper_kernel: Path, place: Path, ourselves: Account, fake_systemd: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if os.geteuid() == 0:
        (paper_kernel / "run/systemd/system").mkdir(parents=True)
    else:
        (paper_kernel / "user/systemd").mkdir(parents=True)
        (paper_kernel / "user/systemd/private").touch()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(paper_kernel / "user"))
    cap = choose_cap(400 * MB, ourselves, place, paper_kernel)
    assert cap == MemoryCap(400 * MB, "systemd-run", oom_policy=True)
    words = fake_systemd.read_text().splitlines()
    assert {"--scope", "--property=OOMPolicy=continue"} < {*words}


def test_a_systemd_that_does_not_know_the_policy_is_asked_without_it(
    paper_kernel: Path, place: Path, ourselves: Account, fake_systemd: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    [program] = fake_systemd.parent.glob("programs/systemd-run")
    script = program.read_text()
    refusal = (
        'case "$*" in *OOMPolicy*) echo "Unknown assignment: OOMPolicy=continue"; exit 1;; esac'
    )
    program.write_text(script.replace("#!/bin/sh\n", f"#!/bin/sh\n{refusal}\n"))
    monkeypatch.setattr("steelyard.engines.memory.rights._systemd_is_there", lambda root: True)
    assert choose_cap(400 * MB, ourselves, place, paper_kernel) == MemoryCap(
        400 * MB, "systemd-run"
    )
    assert "--property=OOMPolicy=continue" not in fake_systemd.read_text().splitlines()


def test_where_systemd_refuses_a_group_is_made(
    paper_kernel: Path, place: Path, ourselves: Account, fake_systemd: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    [program] = fake_systemd.parent.glob("programs/systemd-run")
    program.write_text("#!/bin/sh\necho Failed to connect to bus\nexit 1\n")
    (paper_kernel / "run/systemd/system").mkdir(parents=True)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert choose_cap(400 * MB, ourselves, place, paper_kernel).by == "v2"


def test_without_the_right_the_refusals_are_told_and_an_alternative_is_named(
    paper_kernel: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("steelyard.engines.memory.group.mkdir", refused)
    with pytest.raises(EngineError, match="cannot cap the memory of servers") as caught:
        choose_cap(400 * MB, choose_account(), place, paper_kernel)
    slices = paper_kernel / "sys/fs/cgroup"
    assert (caught.value.detail or "").split("; ") == [
        f"v2 in {slices / 'user.slice'}: Read-only file system",
        f"v2 in {slices}: Read-only file system",
    ]
    instead = "--set memory=none --set settings.debug_io_direct=data"
    assert instead in (caught.value.hint or "")
    assert "root" in (caught.value.hint or "")
    assert [path.name for path in place.iterdir()] == ["slot0"]


def test_a_machine_without_control_groups_says_so(tmp_path: Path, place: Path) -> None:
    with pytest.raises(EngineError) as caught:
        choose_cap(400 * MB, choose_account(), place, tmp_path)
    assert caught.value.detail == "No control group here hands the memory controller on."
