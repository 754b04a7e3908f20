"""Telemetry sources, one a file: each module's SOURCE is read around every epoch."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from steelyard.telemetry.source import TelemetrySource


def built_in_sources() -> tuple[TelemetrySource, ...]:
    """The sources of this folder, by the names of their files."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").SOURCE for name in names)
