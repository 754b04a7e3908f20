"""Types of what the tests of the weighing make."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.running.epoch import RanEpoch

MakeEpoch = Callable[..., RanEpoch]
