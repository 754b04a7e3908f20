"""Reads `KEY=VALUE` words about a workload: its scale, or one of its options."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.errors import UsageError
from steelyard.workloads.reading.folder import find_workload


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
            if not text.isdigit() or not int(text):
                raise UsageError(f'invalid {key}: "{text}"', hint="It is a number from 1 on.")
            scale = int(text)
        else:
            chosen[key.removeprefix("workload.").removeprefix("options.")] = text
    return scale, chosen
