"""The account that servers run under, and acting as it."""

from __future__ import annotations

import errno
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.engines.account import PREFERRED, Account, choose_account
from steelyard.model.errors import EngineError, ServerError, UsageError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change to other accounts")


@needs_root
def test_root_hands_servers_to_the_first_preferred_account_that_exists() -> None:
    existing = {entry.pw_name for entry in pwd.getpwall()}
    assert choose_account().name == next(name for name in PREFERRED if name in existing)


@needs_root
def test_root_may_name_an_account() -> None:
    assert choose_account("nobody").uid == pwd.getpwnam("nobody").pw_uid


@needs_root
def test_root_itself_is_refused() -> None:
    with pytest.raises(EngineError, match="cannot run servers as account"):
        choose_account("root")


@needs_root
def test_an_account_that_does_not_exist_is_refused() -> None:
    with pytest.raises(EngineError, match="not in passwd"):
        choose_account("no-such-account")


def test_an_ordinary_user_runs_servers_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = pwd.getpwnam("nobody")
    monkeypatch.setattr(os, "geteuid", lambda: nobody.pw_uid)
    assert choose_account() == Account("nobody", nobody.pw_uid, nobody.pw_gid)
    assert choose_account("nobody").uid == nobody.pw_uid
    with pytest.raises(EngineError, match="only root can change"):
        choose_account("daemon")


def test_a_user_id_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999)
    with pytest.raises(EngineError, match="3999999"):
        choose_account()


@needs_root
def test_a_call_has_the_accounts_user_id_and_no_groups_of_ours() -> None:
    account = choose_account("nobody")
    uids, gid, groups = account.call(
        lambda: [list(os.getresuid()), os.getegid(), os.getgroups()]
    )  # fmt: skip
    assert uids == [account.uid] * 3
    assert gid == account.gid
    assert groups == []
    assert os.geteuid() == 0


@needs_root
def test_an_operating_system_error_of_a_call_is_raised_here(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's own")
    secret.chmod(0o600)
    with pytest.raises(PermissionError) as caught:
        choose_account("nobody").call(secret.read_text)
    assert caught.value.errno == errno.EACCES


@needs_root
@pytest.mark.parametrize(
    "error",
    [
        ValueError("of no known version"),
        EngineError("no", detail="facts", hint="do"),
        ServerError("no", detail="words"),
        UsageError("no", hint="do"),
    ],
)
def test_a_refusal_of_a_call_is_raised_here_with_all_its_words(error: Exception) -> None:
    def refuse() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        choose_account("nobody").call(refuse)
    assert str(caught.value) == str(error)


@needs_root
def test_whatever_else_a_call_fails_by_is_named() -> None:
    with pytest.raises(EngineError, match="LookupError: unknown encoding: none-such"):
        choose_account().call(lambda: b"x".decode("none-such"))


@needs_root
def test_a_call_ends_with_the_caller_that_is_interrupted(tmp_path: Path) -> None:
    """It writes for ever; the caller is interrupted, and nothing is written afterwards."""
    account, file = choose_account("nobody"), tmp_path / "file"
    file.touch(mode=0o600)
    os.chown(file, account.uid, account.gid)
    with file.open("ab") as opened:

        def write() -> None:
            while True:
                os.write(opened.fileno(), b"x")
                time.sleep(0.001)

        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with pytest.raises(KeyboardInterrupt):
                account.call(write)
        finally:
            signal.signal(signal.SIGALRM, before)
    size = file.stat().st_size
    time.sleep(0.05)
    assert file.stat().st_size == size > 0


@needs_root
def test_a_tree_is_given_away_whole_and_links_in_it_lead_nowhere(place: Path) -> None:
    account, outside = choose_account("nobody"), place / "outside"
    outside.touch()
    (place / "tree/a/b").mkdir(parents=True)
    (place / "tree/a/b/file").touch()
    (place / "tree/a/link").symlink_to(outside)
    account.own_tree(place / "tree")
    everything = [place / "tree", *(place / "tree").rglob("*")]
    assert {path.lstat().st_uid for path in everything} == {account.uid}
    assert outside.stat().st_uid == 0


@needs_root
def test_an_answer_may_be_longer_than_a_pipe_holds() -> None:
    assert len(choose_account("nobody").call(lambda: list(range(100_000)))) == 100_000


_INTERRUPTED_FORK = """
import os, signal
from steelyard.engines.account import choose_account
account = choose_account()
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    print("done", account.call(lambda: 7))
except KeyboardInterrupt:
    print("interrupted")
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("nothing left")
"""


@needs_root
def test_ctrl_c_in_the_moment_of_a_fork_is_not_lost() -> None:
    """Python only prints what is raised in a callback of a fork, logging's for one."""
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_FORK], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["interrupted", "nothing left"]
    assert done.stderr == ""
