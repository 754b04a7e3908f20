"""A server's memory group: entered before the user id is dropped, read, and removed by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.memory.conftest import MB
from steelyard.engines.account import Account, choose_account
from steelyard.engines.capabilities.memory import MemoryCap, MemoryUse
from steelyard.engines.memory.group import (
    MARKER,
    MemoryGroup,
    group_name,
    naming_oom_kills,
    read_use,
    remove_groups,
)
from steelyard.engines.page_cache import evict
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, ServerError

Real = Callable[[int], MemoryCap]


def path_of(group: MemoryGroup) -> Path:
    assert group._path is not None
    return group._path


def test_a_program_is_in_the_group_and_runs_as_the_account(place: Path, real_cap: Real) -> None:
    group = MemoryGroup.make(real_cap(64 * MB), place / "slot0")
    account = choose_account()
    try:
        command = ["/bin/sh", "-c", "cat /proc/self/cgroup; id -u; id -G"]
        _, words = run(account, command, group=group)
    finally:
        group.close()
    *groups, user, theirs = words.splitlines()
    assert any(line.endswith(path_of(group).name) for line in groups)
    assert (user, theirs) == (str(account.uid), str(account.gid))
    assert not path_of(group).exists()
    assert not (place / "slot0" / MARKER).exists()


def test_what_takes_more_than_the_cap_is_killed_and_counted(place: Path, real_cap: Real) -> None:
    group = MemoryGroup.make(real_cap(32 * MB), place / "slot0")
    try:
        # tail keeps the last line, which never ends.
        command = ["/bin/sh", "-c", "head -c 100000000 /dev/zero | tail -n 1 > /dev/null"]
        status, _ = run(choose_account(), command, group=group)
        used = group.use()
        with (
            pytest.raises(ServerError, match="could not start it: the kernel's OOM killer") as told,
            naming_oom_kills(group, "could not start it"),
        ):
            raise ServerError("it died", detail="its words")
    finally:
        group.close()
    assert status != 0
    assert used is not None
    assert used.oom_kills == 1
    assert used.limit_hits != 0, "what the kernel does not count is not zero"
    assert (used.peak_bytes or 0) <= 32 * MB
    assert told.value.detail == "its words"
    last = group.use()
    assert last is not None, "what was told last is known after the group has gone"
    # The kernel gives pages back late, so what is in use falls between two readings.
    assert (last.oom_kills, last.peak_bytes) == (used.oom_kills, used.peak_bytes)


@pytest.mark.long
def test_page_cache_is_charged_to_the_group_that_reads_it_first(
    place: Path, real_cap: Real
) -> None:
    account = choose_account()
    data = place / "data"
    data.mkdir()
    file = data / "file"
    file.write_bytes(os.urandom(40 * MB))
    account.own_tree(data)
    group = MemoryGroup.make(real_cap(16 * MB), place / "slot0")
    try:
        assert evict([data], account).resident_bytes == 0
        run(account, ["/bin/cat", str(file)], group=group)
        peak = group.use()
    finally:
        group.close()
    assert peak is not None
    assert 8 * MB < (peak.peak_bytes or 0) <= 16 * MB
    left = evict([data], account)
    assert left.resident_bytes == 0


def test_an_error_of_a_server_that_was_not_killed_keeps_its_words() -> None:
    with pytest.raises(ServerError, match="it died"), naming_oom_kills(None, "not named"):
        raise ServerError("it died")


def test_the_group_of_a_killed_owner_is_found_by_its_slot_and_no_other_is_touched(
    place: Path, real_cap: Real
) -> None:
    cap = real_cap(64 * MB)
    if cap.parent is None:
        pytest.skip("systemd removes its scopes itself")
    group = MemoryGroup.make(cap, place / "slot0")
    other = cap.parent / f"steelyard-of-another-{os.getpid()}"
    other.mkdir()
    try:
        (place / "slot1").mkdir()
        (place / "slot1" / MARKER).write_text(f"{other}\n")
        assert remove_groups(place) == [path_of(group)]
        assert not path_of(group).exists()
        assert other.exists()
    finally:
        other.rmdir()


def test_a_group_that_a_process_is_in_is_not_removed(
    place: Path, real_cap: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.engines.memory.group._REMOVAL_TIMEOUT_S", 0.05)
    group = MemoryGroup.make(real_cap(64 * MB), place / "slot0")
    if group.cap.parent is None:
        pytest.skip("systemd removes its scopes itself")
    pid = os.fork()
    if pid == 0:
        with group.entrance() as door:
            assert door is not None
            os.write(door, b"0")
        os.read(os.open("/dev/zero", os.O_RDONLY), 1)
        os.kill(os.getpid(), 19)  # stops until it is killed
        os._exit(0)
    os.waitpid(pid, os.WUNTRACED)
    try:
        with pytest.raises(EngineError, match="could not remove memory group") as caught:
            group.close()
        assert str(pid) in (caught.value.detail or "")
        assert (place / "slot0" / MARKER).exists(), "the end of the weighing tries again"
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        assert remove_groups(place) == [path_of(group)]


def test_version_2_gets_a_limit_and_no_swap(paper_kernel: Path, place: Path) -> None:
    parent = paper_kernel / "sys/fs/cgroup/user.slice"
    group = MemoryGroup.make(MemoryCap(400 * MB, "v2", parent), place / "slot0", paper_kernel)
    made = parent / group_name(place / "slot0")
    assert path_of(group) == made
    assert (made / "memory.max").read_text().startswith(str(400 * MB))
    assert (made / "memory.swap.max").read_text().startswith("0")
    assert (place / "slot0" / MARKER).read_text() == f"{made}\n"
    with group.entrance() as door:
        assert door is not None
        os.write(door, b"0")
    assert (made / "cgroup.procs").read_text() == "0"
    group.close()
    assert not made.exists()


V2 = {
    "memory.current": "419430400\n",
    "memory.peak": "419434496\n",
    "memory.stat": "anon 9000\nfile 300000\nshmem 100000\nworkingset_refault_file 77\n",
    "memory.events": "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n",
}
V1 = {
    "memory.limit_in_bytes": "419430400\n",
    "memory.usage_in_bytes": "419430400\n",
    "memory.max_usage_in_bytes": "419434496\n",
    "memory.failcnt": "5\n",
    "memory.memsw.failcnt": "7\n",
    "memory.stat": (
        "cache 1\nworkingset_refault_file 1\ntotal_cache 300000\ntotal_shmem 100000\n"
        "total_workingset_refault_file 77\n"
    ),
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
}


@pytest.mark.parametrize("files", [V1, V2], ids=["v1", "v2"])
def test_both_versions_are_read_alike(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = MemoryUse(
        used_bytes=419430400,
        cache_bytes=200000,
        refaulted_pages=77,
        limit_hits=12,
        oom_kills=2,
        peak_bytes=419434496,
    )
    assert read_use(tmp_path) == told


@pytest.mark.parametrize(
    ("files", "stat", "refaults"),
    [
        (V1, "total_cache 300000\ntotal_shmem 100000\n", None),  # as Linux 5.15 writes it
        (V2, "file 300000\nshmem 100000\nworkingset_refault 77\n", 77),  # before 5.9
        (V2, "file 300000\nshmem 100000\n", None),
    ],
)
def test_refaults_that_a_kernel_does_not_count_are_not_none_at_all(
    tmp_path: Path, files: dict[str, str], stat: str, refaults: int | None
) -> None:
    for name, text in {**files, "memory.stat": stat}.items():
        (tmp_path / name).write_text(text)
    assert read_use(tmp_path).refaulted_pages == refaults
    assert read_use(tmp_path).cache_bytes == 200000


def test_systemd_run_becomes_the_program_in_a_scope_with_the_limits(
    fake_systemd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = MemoryCap(400 * MB, "systemd-run")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    group = MemoryGroup.make(cap, tmp_path / "ID" / "slot0")
    other = Account("other", os.getuid() + 1, os.getgid() + 1)
    command = group.command(other, ["postgres", "-D", "data"])
    assert command[0].endswith("/systemd-run")
    assert command[-4:] == ["--", "postgres", "-D", "data"]
    assert {"--scope", "--unit=steelyard-ID-slot0.scope"} < {*command}
    assert {f"--property=MemoryMax={400 * MB}", "--property=MemorySwapMax=0"} < {*command}
    assert {f"--uid={other.uid}", f"--gid={other.gid}"} < {*command}
    assert "--user" not in command

    ours = Account("ours", os.geteuid(), os.getegid())
    status, words = run(ours, ["/bin/sh", "-c", "echo $$ here"], group=group)
    assert status == 0
    assert words.endswith("here\n")
    assert "--scope" in fake_systemd.read_text().splitlines()


def test_a_scope_goes_on_where_the_kernel_kills_a_process_of_it(tmp_path: Path) -> None:
    """Else systemd stops it all, and the count of the kills goes with the scope."""
    ours = Account("ours", os.geteuid(), os.getegid())
    for takes, times in ((True, 1), (False, 0)):
        cap = MemoryCap(400 * MB, "systemd-run", oom_policy=takes)
        command = MemoryGroup.make(cap, tmp_path / "ID" / "slot0").command(ours, ["postgres"])
        assert command.count("--property=OOMPolicy=continue") == times


def test_an_ordinary_user_asks_its_own_manager(
    fake_systemd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    group = MemoryGroup.make(MemoryCap(400 * MB, "systemd-run"), tmp_path / "ID" / "slot0")
    command = group.command(Account("me", 1000, 1000), ["postgres"])
    assert "--user" in command
    assert not any(word.startswith("--uid") for word in command)
    assert group.environment["XDG_RUNTIME_DIR"] == "/run/user/1000"


@pytest.mark.parametrize("limit", [str(400 * MB), "max"])
def test_a_scope_without_the_limit_is_refused(
    paper_kernel: Path, tmp_path: Path, limit: str
) -> None:
    slot = tmp_path / "ID" / "slot0"
    scope = paper_kernel / "sys/fs/cgroup/system.slice/steelyard-ID-slot0.scope"
    scope.mkdir(parents=True)
    (scope / "memory.max").write_text(f"{limit}\n")
    (scope / "memory.stat").write_text("file 9\n")
    (paper_kernel / "proc/77").mkdir()
    told = "0::/system.slice/steelyard-ID-slot0.scope\n"
    (paper_kernel / "proc/77/cgroup").write_text(told)
    group = MemoryGroup.make(MemoryCap(400 * MB, "systemd-run"), slot, paper_kernel)
    if limit == "max":
        with pytest.raises(EngineError, match="without its memory cap"):
            group.settle(77)
        return
    group.settle(77)
    used = group.use()
    assert used is not None
    assert used.cache_bytes == 9
    group.close()
    assert scope.exists(), "a scope goes with its processes"
