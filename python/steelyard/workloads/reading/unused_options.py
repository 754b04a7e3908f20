"""Finds options that were chosen and change nothing of what is driven: none is ignored silently."""

from __future__ import annotations

import re

from steelyard.model.errors import UsageError
from steelyard.workloads.reading.workload import Workload

_VARIABLE = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")

Driven = tuple[dict[str, int], tuple[tuple[str, ...], ...], dict[str, str | int]]


def driven(workload: Workload, clients: int) -> Driven:
    """What so many clients drive: scripts with their weights, streams, and the values of the
    variables that these scripts name."""
    mix = workload.mix()
    texts = [(workload.folder / "scripts" / f"{name}.sql").read_text() for name in mix]
    named = {name for text in texts for name in _VARIABLE.findall(text)}
    values = {name: value for name, value in workload.variables(1).items() if name in named}
    return mix, workload.streams_of(clients), values


def refuse_idle(workload: Workload, clients: int) -> None:
    """UsageError names the first option that is not as it is by default and changes nothing,
    beside the others that were chosen; one that decides what is loaded does change something."""
    found = driven(workload, clients)
    for name, option in workload.options.items():
        if option.loads or workload.chosen[name] == option.default:
            continue
        chosen = {**workload.chosen, name: option.default}
        if driven(workload.model_copy(update={"chosen": chosen}), clients) == found:
            raise UsageError(
                f'option "{name}" of workload "{workload.name}" changes nothing here',
                detail=f"Driven: {', '.join(found[0])}. No value of it matters there.",
                hint="Leave it out, or choose other options beside it.",
            )
