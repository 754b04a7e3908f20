"""Fetches the engines that weighings name and this machine does not have, before any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from steelyard.cli.command_line import say
from steelyard.cli.weighing.subcommand import run
from steelyard.engines.adapters import Wanted, adapter
from steelyard.model.errors import EngineError
from steelyard.study.read import read_study
from steelyard.study.study import Study

FETCHED = "npm-"
"""Names of builds of PostgreSQL that `steelyard engines add` fetched begin so."""


def missing_engines(weighings: Iterable[Sequence[str]], account: str | None) -> list[str]:
    """What `steelyard engines add` is to be given, each once; `weighings`: what stands after
    `steelyard weigh`."""
    wanted = {
        (study.engine, arm.version): None
        for words in weighings
        for study in _studies(words)
        if not study.reaches
        for arm in study.every_arm
        if arm.bindir is None
    }
    lost = [version for engine, version in wanted if not _is_found(engine, version, account)]
    return list(dict.fromkeys(version.removeprefix(FETCHED) for version in lost))


def bring_engines(missing: Sequence[str], account: str | None) -> None:
    """Add each as `steelyard engines add` does; EngineError: which of them are to be added first,
    as one could not be."""
    if missing:
        say(f"missing here, so fetched first by `steelyard engines add`: {', '.join(missing)}")
    more = [] if account is None else ["--as", account]
    for place, version in enumerate(missing):
        if run(["engines", "add", version, *more]) != 0:
            left = "; ".join(f"steelyard engines add {one}" for one in missing[place:])
            raise EngineError(
                f'could not fetch engine "{version}": nothing was weighed',
                detail="The reason stands above; without a network no version can be fetched.",
                hint=f"Add what is missing, then repeat the command: {left}",
            )


def _studies(words: Sequence[str]) -> Iterator[Study]:
    """The study of a weighing; of a sweep, one a value."""
    study, *options = words
    given = list(pairwise(options))
    changes = [value for option, value in given if option == "--set"]
    swept = [value.partition("=") for option, value in given if option == "--sweep"]
    if not swept:
        yield read_study(study, changes)
    for key, _, values in swept:
        for value in values.split(","):
            yield read_study(study, [*changes, f"{key}={value}"])


def _is_found(engine: str, version: str, account: str | None) -> bool:
    try:
        adapter(engine).find_arms([Wanted(version)], account, contrib=False)
    except EngineError:
        return False
    return True
