"""A copy of the checkout that faults are put into, and the calls of the tests that run in it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.fault import Fault

EXTENSION = "python/steelyard/_core.abi3.so"
LONGEST_S = 600
"""A call of tests that takes longer hangs, which is noticed as well."""


@dataclass(frozen=True)
class Checkout:
    """A copy of the files of `root` in `home`, which is kept so that Rust is not built anew."""

    root: Path
    home: Path

    def refresh(self) -> None:
        """Make the copy equal to the root. A file that is equal already keeps its time, by which
        cargo sees what was built from it."""
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        answer = subprocess.run(listed, cwd=self.root, check=True, capture_output=True)
        names = {name for name in answer.stdout.decode().split("\0") if name} | {EXTENSION}
        there = {name for name in names if (self.root / name).is_file()}
        for name in sorted(there):
            self._copy(name)
        for folder, below, files in os.walk(self.home):
            below[:] = [name for name in below if name != "target"]
            for path in (Path(folder) / name for name in files):
                if str(path.relative_to(self.home)) not in there and path.suffix != ".pyc":
                    path.unlink()
        with suppress(FileExistsError):
            (self.home / ".venv").symlink_to(self.root / ".venv")

    def _copy(self, name: str) -> None:
        content, target = (self.root / name).read_bytes(), self.home / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        target.chmod((self.root / name).stat().st_mode)

    @contextmanager
    def mutated(self, fault: Fault) -> Iterator[None]:
        """The copy with a fault in it; with a built extension where tests of Python notice it."""
        path = self.home / fault.file
        source = path.read_text(encoding="utf-8")
        self._write(path, fault.applied(source))
        try:
            if fault.is_rust and any(test.endswith(".py") for test in fault.tests):
                self._build_extension()
            yield
        finally:
            self._write(path, source)
            self._copy(EXTENSION)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".py":  # its time has seconds: an equally long text would go unnoticed
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def _build_extension(self) -> None:
        build = ["cargo", "build", "-q", "--profile", "tested", "-p", "steelyard-bindings"]
        subprocess.run(build, cwd=self.home, env=self._environment(), check=True)
        built = self.home / "target" / "tested" / "lib_core.so"
        (self.home / EXTENSION).write_bytes(built.read_bytes())

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.home / "python"),
            # Its own: cargo gives a crate of another checkout the same name, and takes its build.
            "CARGO_TARGET_DIR": str(self.home / "target"),
        }

    def run(self, tests: Sequence[str], *, all_of_them: bool = False) -> str | None:
        """Run test files, up to the first failure or `all_of_them`; what failed, None where all
        passed."""
        for command in calls(tests, all_of_them=all_of_them):
            status, output = self._call(command)
            if status != 0:
                return _first_failure(output) or f"exit status {status}"
        return None

    def _call(self, command: Sequence[str]) -> tuple[int, str]:
        process = subprocess.Popen(
            command,
            cwd=self.home,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 1, f"FAILED after {LONGEST_S} seconds"
        return process.returncode, output


def calls(tests: Sequence[str], *, all_of_them: bool) -> Iterator[list[str]]:
    """The calls that run these test files: one of pytest, one of cargo for each of a crate's. A
    file of a crate's sources stands for the tests inside of them."""
    python = [test for test in tests if not test.startswith("crates/")]
    for test in tests:
        if test.startswith("crates/"):
            crate, kind, name = Path(test).parts[1:4]
            which = ["--lib"] if kind == "src" else ["--test", name.removesuffix(".rs")]
            package = f"steelyard-{crate}"
            yield ["cargo", "test", "-q", "--profile", "tested", "-p", package, *which]
    if python:
        quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long"]
        until = [] if all_of_them else ["-x"]
        yield [sys.executable, "-m", "pytest", *quiet, *until, *python]


def _first_failure(output: str) -> str | None:
    """The line that names the first failed test, of pytest or cargo."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.partition(" ")[2].partition(" - ")[0]
        if line.startswith("---- ") and line.endswith(" stdout ----"):
            return line.split()[1]
        if line.startswith("error: could not compile"):
            return line
    return None
