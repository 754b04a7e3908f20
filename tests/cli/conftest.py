"""Runs the real program as a user does: its own process, a directory and a cache of its own.

What is only to be refused runs in a process that is forked from this one: a fifth of a second of
imports each, for dozens of wrong questions, is more than all the rest of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NoReturn

import pytest

from own_cache import open_directory

Said = subprocess.CompletedProcess[str]
Steelyard = Callable[..., Said]


@pytest.fixture(scope="session")
def program_cache() -> Iterator[Path]:
    """A cache root that any account can reach, for every call of the program in these tests."""
    with open_directory() as home:
        yield home


@pytest.fixture
def steelyard(tmp_path: Path, program_cache: Path) -> Steelyard:
    """Calls the program in `tmp_path`; `environment` is laid over ours."""

    def call(
        *arguments: str, environment: dict[str, str] | None = None, timeout: float = 300
    ) -> Said:
        own = {"STEELYARD_CACHE": str(program_cache), "COLUMNS": "100"}
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=tmp_path,
            env={**os.environ, **own, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    return call


@pytest.fixture
def forked(tmp_path: Path, program_cache: Path) -> Steelyard:
    """Calls the program in `tmp_path`, in a fork of this process."""

    def call(*arguments: str) -> Said:
        own = {"STEELYARD_CACHE": str(program_cache), "COLUMNS": "100"}
        with tempfile.TemporaryFile("w+") as answer, tempfile.TemporaryFile("w+") as said:
            pid = os.fork()
            if pid == 0:
                _become_the_program(arguments, tmp_path, own, (answer, said))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            for file in (answer, said):
                file.seek(0)
            return Said(arguments, status, answer.read(), said.read())

    return call


def _become_the_program(
    arguments: Sequence[str], directory: Path, own: dict[str, str], files: Sequence[IO[str]]
) -> NoReturn:
    """In the fork: `steelyard` with these arguments, and nothing of the tests afterwards."""
    from steelyard.cli.app import main

    status = 120
    try:
        os.chdir(directory)
        os.environ.update(own)
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno(), number)
        sys.stdin = open(os.devnull)  # noqa: SIM115  as long as this process lives
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
        sys.argv = ["steelyard", *arguments]
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        if status == 120:
            traceback.print_exc(file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def error_words(said: Said) -> str:
    """The words of the one error object on standard output, as a terminal shows them."""
    [line] = said.stdout.splitlines()
    answer = json.loads(line)
    assert list(answer) == ["error"]
    error = answer["error"]
    assert list(error) == ["primary", "detail", "hint", "status"]
    assert error["status"] == said.returncode
    lines = [f"error: {error['primary']}"]
    lines += [f"DETAIL:  {error['detail']}"] if error["detail"] else []
    lines += [f"HINT:  {error['hint']}"] if error["hint"] else []
    return "\n".join(lines)


@pytest.fixture
def refused(forked: Steelyard, tmp_path: Path) -> Callable[..., str]:
    """What the program says to wrong usage; it says it once, in its manner, and leaves nothing.
    Under `--json` the same is one object on standard output."""

    def call(*arguments: str, status: int = 2) -> str:
        before = sorted(tmp_path.rglob("*"))
        said = forked(*arguments)
        assert said.returncode == status, said.stderr
        if "--json" in arguments:
            assert error_words(said) == said.stderr.rstrip("\n")
        else:
            assert said.stdout == ""
        assert said.stderr.startswith("error: ")
        assert said.stderr.count("error: ") == 1
        assert "Traceback" not in said.stderr
        assert sorted(tmp_path.rglob("*")) == before, "a command that failed left files"
        return said.stderr

    return call
