"""Holds what was asked: a study, a seed, and where the record is to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.study.study import Study


@dataclass(frozen=True)
class Question:
    """One weighing as it was asked for on the command line or from Python."""

    study: Study
    seed: int
    record: Path | None = None  # None: records/<study>/<UTC time>/
    resume: Path | None = None  # a record to go on with; its study and seed hold
    command: Sequence[str] = ()
    ledger: Path | None = None  # of this machine's balance; None: none is asked or told
    new_ledger: bool = False  # begin a new one with this weighing
