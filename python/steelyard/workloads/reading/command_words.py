"""Reads what a command says of a workload: its name or folder, and `KEY=VALUE` words about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.workload import DESCRIPTION

_ELSEWHERE = "The built-in one is chosen by its name in another directory."


def folder_word(folder: Path) -> str:
    """A workload's folder as commands take it: with "./" where a built-in one has its name."""
    return f"./{folder}" if str(folder) in known_workloads() else str(folder)


def workload_of(text: str, otherwise: str = _ELSEWHERE) -> str:
    """The name or the folder that was typed, as a study keeps it: a folder by its shortest path,
    with "./" where a built-in workload has that name.

    UsageError: a name that both have; `otherwise` says how the built-in one is chosen.
    """
    name = str(Path(text))
    if text != name or name not in known_workloads():
        return folder_word(Path(text))
    if (Path(name) / DESCRIPTION).is_file():
        raise UsageError(
            f'workload "{name}" is built in, and a folder here has that name',
            hint=f"Write ./{name} for the folder. {otherwise}",
        )
    return name


def scale_and_options(name: str, overrides: Sequence[str]) -> tuple[int, dict[str, str]]:
    """The scale (0: none was given) and the options of `--set`. UsageError: another form."""
    names = {"scale", "workload.scale", find_workload(name).scale_name}
    scale, chosen = 0, {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise UsageError(
                f'invalid override: "{override}"', hint="Write it as KEY=VALUE: --set scale=10"
            )
        if key in names:
            scale = _scale(key, text)
        else:
            chosen[key.removeprefix("workload.").removeprefix("options.")] = text
    return scale, chosen


def _scale(key: str, text: str) -> int:
    try:
        scale = int(text)
    except ValueError:  # also of more digits than Python reads
        scale = 0
    if scale < 1:
        raise UsageError(f'invalid {key}: "{text[:40]}"', hint="It is a number from 1 on.")
    return scale
