"""Weighs by the command that a user would give, and reads what it left."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.record.reader import ENVIRONMENT, VERDICT
from steelyard.record.sweep import POINTS, SWEPT_FILE
from validation.results import Results

STEELYARD = Path(sys.executable).with_name("steelyard")
_OF_THE_MACHINE = ("kernel", "processor", "allowed_processors", "memory_bytes", "virtual")
Told = dict[str, Any]
Kept = Callable[[Sequence[str], Mapping[str, Any], Path], Told]
"""Words after `weigh`, what `--json` told, the record → what is kept."""


def weighed(name: str, words: Sequence[str], record: Path) -> tuple[Told, Told, Told]:
    """The verdict, its only contrast, and the environment; SystemExit says what `name` died of."""
    verdict = told(name, words, record)
    [contrast] = verdict["contrasts"]
    return verdict, contrast, environment_of(record)


def told(name: str, words: Sequence[str], record: Path, before: Sequence[str] = ()) -> Told:
    """What `weigh --json` tells; SystemExit says what `name` died of. `before`: words of the shell
    in front of the command. A record without a verdict is of a run that was stopped: it goes."""
    if not _result_of(record).exists():
        shutil.rmtree(record, ignore_errors=True)
    command: list[str | Path] = [*before, STEELYARD, "weigh", *words, "--json", "--record", record]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {name} ended with {done.returncode}\n{done.stderr[-2000:]}")
    document: Told = json.loads(done.stdout)
    return document


def verdict_of(record: Path) -> Told | None:
    """The verdict of a record; None: it has none yet."""
    path = _result_of(record)
    document: Told | None = json.loads(path.read_text()) if path.exists() else None
    return document


def _result_of(record: Path) -> Path:
    """Where the verdict of a record stands, or would; of a sweep that ended, all of its points'."""
    swept = record / SWEPT_FILE
    return swept if swept.exists() else record / VERDICT


def environment_of(record: Path) -> Told:
    """The environment of a record; of a sweep, that of its first point."""
    path = record / ENVIRONMENT
    if not path.exists():
        path = sorted(record.glob(f"{POINTS}/*/{ENVIRONMENT}"))[0]
    environment: Told = json.loads(path.read_text())
    return environment


def machine_of(environment: Mapping[str, Any]) -> Told:
    """What a result keeps of the machine that it was measured on."""
    return {name: environment["machine"][name] for name in _OF_THE_MACHINE}


def revision() -> str:
    """The commit that is checked out; empty outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@dataclass(frozen=True)
class Weighings:
    """Weighings that a page tells of; each has its line in `results`, and then is not repeated."""

    results: Results
    words: Mapping[str, Sequence[str]]
    """Name → what is said after `weigh`, seed and all."""
    kept: Kept

    def run(self, description: str) -> None:
        """Do what the command line says: adopt records, weigh what has no result, or neither."""
        parser = argparse.ArgumentParser(description=f"{description}; resumable")
        folder = Path("records") / self.results.path.stem
        parser.add_argument("--records", type=Path, default=folder)
        parser.add_argument("--only", choices=list(self.words), default=None)
        parser.add_argument("--adopt", metavar="NAME=RECORD", action="append", default=[])
        parser.add_argument("--page", action="store_true", help="only write the page")
        options = parser.parse_args()
        for adoption in options.adopt:
            name, _, record = adoption.partition("=")
            self.results.replace(name, self.adopted(name, Path(record)))
        if options.adopt or options.page:
            return
        for name in self.words:
            if name not in self.results.done() and options.only in (None, name):
                self.results.add(name, self._weigh(name, options.records))
                print(f"{name}: weighed", flush=True)

    def adopted(self, name: str, record: Path) -> Told:
        """What is kept of a record; ValueError: it was made by another command."""
        result = _result_of(record)
        document = json.loads(result.read_text())
        ran = [word for word in document["command"].split()[2:] if word != "--json"]
        if sorted(ran) != sorted(self.words[name]):
            raise ValueError(f"{record} was made by: {document['command']}")
        return self._line(
            name, {"sweep": document} if result.name == SWEPT_FILE else document, record
        )

    def _weigh(self, name: str, records: Path) -> Told:
        record = records / name.replace(", ", "-") / "record"  # alone: not an attempt at another
        return self._line(name, told(name, self.words[name], record), record)

    def _line(self, name: str, found: Mapping[str, Any], record: Path) -> Told:
        fields = self.kept(self.words[name], found, record)
        return {**fields, "revision": revision()}
