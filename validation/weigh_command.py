"""Runs `steelyard weigh` as a user would, and reads the verdict and environment of its record."""

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
Json = dict[str, Any]
ReadResult = Callable[[Sequence[str], Mapping[str, Any], Path], Json]
"""Arguments after `weigh`, the JSON of its verdict, the record → the result to write down."""


def run_weigh_pair(name: str, words: Sequence[str], record: Path) -> tuple[Json, Json, Json]:
    """Run a weighing of two arms: its verdict, the verdict's only contrast, and the environment.
    SystemExit as in `run_weigh`."""
    verdict = run_weigh(name, words, record)
    [contrast] = verdict["contrasts"]
    return verdict, contrast, environment_of(record)


def run_weigh(name: str, words: Sequence[str], record: Path, before: Sequence[str] = ()) -> Json:
    """Run `steelyard weigh … --json` and return its verdict. `before`: shell words in front of the
    command. A record without a verdict is of an interrupted run and is removed first. SystemExit:
    the command failed; it names `name` and the end of stderr."""
    if not _result_of(record).exists():
        shutil.rmtree(record, ignore_errors=True)
    command: list[str | Path] = [*before, STEELYARD, "weigh", *words, "--json", "--record", record]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {name} ended with {done.returncode}\n{done.stderr[-2000:]}")
    document: Json = json.loads(done.stdout)
    return document


def verdict_of(record: Path) -> Json | None:
    """The verdict of a record; None: it has none yet."""
    path = _result_of(record)
    document: Json | None = json.loads(path.read_text()) if path.exists() else None
    return document


def _result_of(record: Path) -> Path:
    """Where the verdict of a record stands, or would; of a sweep that ended, all of its points'."""
    swept = record / SWEPT_FILE
    return swept if swept.exists() else record / VERDICT


def environment_of(record: Path) -> Json:
    """The environment of a record; of a sweep, that of its first point."""
    path = record / ENVIRONMENT
    if not path.exists():
        path = sorted(record.glob(f"{POINTS}/*/{ENVIRONMENT}"))[0]
    environment: Json = json.loads(path.read_text())
    return environment


def machine_of(environment: Mapping[str, Any]) -> Json:
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
    """Name → the arguments after `steelyard weigh`, with the seed."""
    read_result: ReadResult

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
            self.results.replace(name, self.adopt(name, Path(record)))
        if options.adopt or options.page:
            return
        for name in self.words:
            if name not in self.results.answered_keys() and options.only in (None, name):
                self.results.add(name, self._weigh(name, options.records))
                print(f"{name}: weighed", flush=True)

    def adopt(self, name: str, record: Path) -> Json:
        """The result of a record that is there; ValueError: another command made it."""
        result = _result_of(record)
        document = json.loads(result.read_text())
        ran = [word for word in document["command"].split()[2:] if word != "--json"]
        if sorted(ran) != sorted(self.words[name]):
            raise ValueError(f"{record} was made by: {document['command']}")
        return self._line(
            name, {"sweep": document} if result.name == SWEPT_FILE else document, record
        )

    def _weigh(self, name: str, records: Path) -> Json:
        record = records / name.replace(", ", "-") / "record"  # alone: not an attempt at another
        return self._line(name, run_weigh(name, self.words[name], record), record)

    def _line(self, name: str, document: Mapping[str, Any], record: Path) -> Json:
        fields = self.read_result(self.words[name], document, record)
        return {**fields, "revision": revision()}
