"""Steelyard: a laboratory for databases, PostgreSQL first.

`steelyard.read(DIRECTORY)` reads a record; docs/reference/python.md has the rest. What the program
itself needs not is imported when it is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.api import (
        Contrast,
        ContrastEpoch,
        MeasuredSlice,
        WeighedArm,
        Weighing,
        read,
    )
    from steelyard.model.errors import SteelyardError
    from steelyard.model.estimate import Estimate
    from steelyard.model.threat import Threat

__version__ = "0.1.0"
__all__ = [
    "Contrast",
    "ContrastEpoch",
    "Estimate",
    "MeasuredSlice",
    "SteelyardError",
    "Threat",
    "WeighedArm",
    "Weighing",
    "__version__",
    "read",
]
_PLACES = {
    **dict.fromkeys(
        ("read", "Contrast", "ContrastEpoch", "MeasuredSlice", "WeighedArm", "Weighing"), "api"
    ),
    "SteelyardError": "model.errors",
    "Estimate": "model.estimate",
    "Threat": "model.threat",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"steelyard.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
