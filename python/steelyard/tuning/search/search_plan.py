"""Keeps what a search was begun with, so that it can be resumed: search.json beside its study."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from steelyard.model.errors import RecordError, UsageError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.record.frozen import Frozen
from steelyard.study.read import read_recorded_study, write_study
from steelyard.study.study import Study
from steelyard.tuning.profile.basis import Basis

_PLAN, _STUDY = "search.json", "study.toml"


class SearchPlan(Frozen):
    """Everything that decides which candidates are tried."""

    seed: int
    trials: int
    durability: tuple[str, ...]
    basis: Basis
    first: Mapping[str, str]


def keep_plan(folder: Path, plan: SearchPlan, study: Study) -> None:
    """Write both; UsageError where the folder has something in it."""
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f'could not begin a search in "{folder}": it is not empty',
            hint=f"Go on with a search that was interrupted: steelyard tune --resume "
            f"{shlex.quote(str(folder))}",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with OwnDirectory.open(folder) as own:
        own.write(_STUDY, write_study(study))
        own.write(_PLAN, plan.model_dump_json())


def read_plan(folder: Path) -> tuple[SearchPlan, Study]:
    """What a search was begun with. UsageError: there is none; RecordError: a broken one."""
    try:
        told = read_json(folder / _PLAN)
    except FileNotFoundError:
        raise UsageError(f'cannot resume "{folder}": there is no search in it') from None
    except ValueError as reason:
        raise RecordError(f'could not read "{folder / _PLAN}": {reason}') from reason
    return SearchPlan.of_json(told, str(folder / _PLAN)), read_recorded_study(folder / _STUDY)
