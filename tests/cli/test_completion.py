"""The shell completes commands, options and studies, by the script that the program prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from thinned import thinned

ASK = """
set -e
. ./script
COMP_WORDS=({words})
COMP_CWORD={place}
_steelyard_completion steelyard
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@thinned(
    ("words", "offered"),
    [
        ("we", {"weigh"}),
        ("history b", {"bisect"}),
        ("weigh --swe", {"--sweep"}),
        ("weigh checksums-", {"checksums-rw"}),
    ],
    1,
)
def test_bash_completes(
    steelyard: Steelyard, tmp_path: Path, words: str, offered: set[str]
) -> None:
    (tmp_path / "script").write_text(steelyard("completion", "bash").stdout)
    program = Path(sys.executable).parent
    told = subprocess.run(
        ["bash", "-c", ASK.format(words=f"steelyard {words}", place=len(words.split()))],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(told.stdout.split()) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_that_asks_the_program(forked: Steelyard, shell: str) -> None:
    said = forked("completion", shell)
    assert said.returncode == 0
    assert "_STEELYARD_COMPLETE" in said.stdout


def test_a_shell_without_one_is_refused(forked: Steelyard) -> None:
    said = forked("completion", "csh")
    assert said.returncode == 2
    assert "bash, zsh, fish" in said.stderr
