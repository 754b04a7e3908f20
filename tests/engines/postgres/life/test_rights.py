"""The same life with fewer rights: as an ordinary user, and as root in a container."""

from __future__ import annotations

import ctypes
import os
import pwd
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import steelyard
from steelyard import _core
from steelyard.engines.account import Account, choose_account
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.postgres import postgres
from steelyard.engines.postgres import process_tree as accounting
from steelyard.engines.postgres.builds import build, find
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.life import cluster
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights up"),
]
LOADED = (_core, accounting, cluster, find, postgres, build, psycopg)


def as_account(account: Account, home: Path, action: Callable[[], None]) -> None:
    """Run `action` in a child that is the account, with a home of its own; its errors are shown."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.environ.pop("STEELYARD_CACHE", None)
            os.environ.update(HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
            account.become()
            try:
                action()
            except BaseException:
                os.write(writer, traceback.format_exc().encode()[-60_000:])
                raise
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(pid, 0)
    assert not said, said


def whole_life(version: str) -> None:
    """Everything a weighing asks of an engine, in the caller's own rights."""
    account = choose_account()
    engine = find_postgres(version)
    with open_run(open_cache(), account) as run:
        slot = Slot(0, run.directory / "slot0", run.sockets, 54320)
        template = engine.create(run.directory / "template", protection="checksums")
        arm = template.clone(slot.path / "data")
        arm.protect("none")
        arm.start(slot, {"shared_buffers": "16MB"})
        assert arm.settings()["data_checksums"] == "off"
        processor = min(os.sched_getaffinity(0))
        arm.place({arm.pid: [processor]})
        assert os.sched_getaffinity(arm.pid) == {processor}
        use = arm.use()
        assert use.cpu_ns > 0
        assert use.written_bytes > 0
        arm.freeze()
        arm.thaw()
        arm.crash()
        arm.restore(template.directory)
        arm.start(slot, {})
        arm.stop()
        run_directory, sockets = run.directory, run.sockets
    assert not run_directory.exists()
    assert not sockets.exists()


@pytest.mark.parametrize("version", ["18", "16"])
def test_an_ordinary_user_has_the_whole_life(
    version: str, place: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = pwd.getpwnam("nobody")
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid)
    home = place / "home"
    account.make_directory(home)

    def live() -> None:
        whole_life(version)
        assert (home / "cache" / "steelyard" / "templates").is_dir()

    # Checked out where only root can enter, the bundle would be hidden from this account.
    readable = Build(Path(find_postgres(version).identity.bindir), "bundle")
    monkeypatch.setattr(find, "bundled_builds", lambda: [readable])
    as_account(account, home, live)


@pytest.mark.long
def test_root_in_a_container_has_the_whole_life(place: Path) -> None:
    """Without CAP_SYS_NICE, CAP_SYS_PTRACE, CAP_IPC_OWNER and others that containers lack."""
    script = f"""
        import importlib.util
        spec = importlib.util.spec_from_file_location("rights", {__file__!r})
        rights = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(rights)
        status = open("/proc/self/status").read()
        effective = next(line.split()[1] for line in status.splitlines() if "CapEff" in line)
        assert int(effective, 16) & (1 << 19 | 1 << 23) == 0, "CAP_SYS_PTRACE or _NICE is left"
        rights.whole_life("18")
    """
    environment = {**os.environ, "STEELYARD_CACHE": str(place / "cache")}
    package = str(Path(steelyard.__file__).parent.parent)
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**environment, "PYTHONPATH": package},
        preexec_fn=drop_capabilities,
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr


# What Docker grants by default (moby, profiles/caps of its daemon); numbers of linux/capability.h.
GRANTED = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
PR_CAPBSET_DROP = 24


def drop_capabilities() -> None:
    """Take from the bounding set what a container lacks: exec then leaves root without it."""
    libc = ctypes.CDLL(None)
    for capability in range(41):
        if capability not in GRANTED:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
