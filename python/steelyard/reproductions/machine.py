"""Says on which machine something was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def machine_words(machine: Mapping[str, Any]) -> str:
    """The machine of an environment.json: processors, memory, kernel."""
    processors = len(machine["allowed_processors"])
    memory_gb = machine["memory_bytes"] / 1e9
    virtual = ", virtual" if machine.get("virtual") else ""
    return (
        f"{processors} processors ({machine['processor']}{virtual}), {memory_gb:.0f} GB of memory, "
        f"{machine['kernel']}"
    )


def machines_words(machines: Iterable[Mapping[str, Any]]) -> str:
    """Every machine once, in the order in which they come."""
    return "; ".join(dict.fromkeys(map(machine_words, machines)))
