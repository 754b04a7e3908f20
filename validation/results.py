"""Keeps results as they come, a JSON object a line, so that a validation can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("results")
"""Where the results lie that docs/results/validation.md is written from."""


@dataclass(frozen=True)
class Results:
    """An append-only file of results, each with the key of the case it answers."""

    path: Path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            if line.strip():
                yield json.loads(line)

    def answered_keys(self) -> set[str]:
        """The keys of the cases that have a result."""
        return {result["key"] for result in self}

    def add(self, key: str, result: Mapping[str, Any]) -> None:
        """Append the result of a case; on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as opened:
            opened.write(json.dumps({"key": key, **result}) + "\n")

    def keep(self, is_current: Callable[[Mapping[str, Any]], bool]) -> None:
        """Drop the results that are not wanted any more: other code made them."""
        every = list(self)
        retained = [result for result in every if is_current(result)]
        if len(retained) != len(every):
            self._write(retained)

    def replace(self, key: str, result: Mapping[str, Any]) -> None:
        """Append the result of a case in place of the one it had: one of the two is on disk
        whenever this is interrupted."""
        others = [earlier for earlier in self if earlier["key"] != key]
        self._write([*others, {"key": key, **result}])

    def _write(self, results: Sequence[Mapping[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        draft.write_text("".join(json.dumps(result) + "\n" for result in results))
        draft.replace(self.path)
