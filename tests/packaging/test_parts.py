"""The parts of a check run side by side: one that fails fails the check, none outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[2] / ".ci" / "parts"
SIGINT_IGNORED = "(( 0x$(grep SigIgn /proc/self/status | cut -f2) & 2 ))"


def script(*lines: str) -> list[str]:
    return ["bash", "-c", "\n".join(["set -euo pipefail", f". {PARTS}", *lines])]


@pytest.mark.parametrize(("second", "status"), [("true", 0), ("false", 1)])
def test_what_each_part_says_is_shown_when_all_are_done(second: str, status: int) -> None:
    lines = ['part "first" echo words', f'part "second" {second}', "echo meanwhile", "show_parts"]
    ended = subprocess.run(script(*lines), capture_output=True, text=True, check=False)
    assert ended.returncode == status
    failed = "== failed: second\n" * status
    assert ended.stdout == f"meanwhile\n== first\nwords\n== second\n{failed}"


def test_a_part_ignores_no_signal_that_its_tests_would_inherit() -> None:
    lines = [f"ignored() {{ {SIGINT_IGNORED}; }}", 'part "signals" ignored', "show_parts"]
    assert subprocess.run(script(*lines), capture_output=True, check=False).returncode == 1


def test_bytecode_is_kept_whatever_the_environment_says() -> None:
    lines = ["shown() { echo ${PYTHONDONTWRITEBYTECODE-unset}; }", "part shown shown", "show_parts"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.check_output(script(*lines), env=environment, text=True)
    assert answer == "== shown\nunset\n"


def test_a_check_that_is_ended_leaves_no_part_running() -> None:
    lines = ["sleeps() { sleep 600; }", 'part "sleeper" sleeps', "echo ${groups[0]}", "show_parts"]
    check = subprocess.Popen(script(*lines), stdout=subprocess.PIPE, text=True)
    assert check.stdout is not None
    group = int(check.stdout.readline())
    os.killpg(group, 0)
    check.send_signal(signal.SIGTERM)
    check.communicate()
    try:
        assert any(_is_gone(group) for _ in range(300)), "the part outlived its check"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_part_of_a_check_that_is_ended_may_clean_up(tmp_path: Path, number: int) -> None:
    """As pytest stops the servers of its tests where Ctrl-C ends it, and by no other signal."""
    mark = tmp_path / "cleaned"
    trap = f"trap 'sleep 0.3; touch {mark}; kill $!; exit' INT"
    lines = [
        f"cleans() {{ {trap}; sleep 600 & wait; }}",
        'part "cleaner" cleans',
        "sleep 0.5",
        "echo begun",
        "show_parts",
    ]
    check = subprocess.Popen(
        ["env", "--default-signal=INT,HUP,TERM", *script(*lines)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert check.stdout is not None
    assert check.stdout.readline() == "begun\n"
    check.send_signal(number)
    check.communicate()
    assert mark.exists()


def _is_gone(group: int) -> bool:
    """Whether no process of a group is left; waits a little where one is."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    time.sleep(0.1)
    return False
