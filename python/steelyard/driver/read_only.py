"""Asks a session of the driver whether transactions begin read-only, as its settings say."""

from __future__ import annotations

import json

from steelyard import _core
from steelyard.driver.plan import DriveArm
from steelyard.engines.defer_signals import interruptible
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError

READ_ONLY = "default_transaction_read_only"
ON = "on"
_BEGUN = "SHOW transaction_read_only"
_OF_POOLER = "unsupported startup parameter"
"""How PgBouncer refuses `options`, older ones without what is in them."""


def why_not_read_only(target: Endpoint) -> str | None:
    """Why sessions at a target that has READ_ONLY among its settings do not begin read-only, as
    behind a pooler that does not pass on how they begin; None: they do.

    DriverError: there is no session, for another reason.
    """
    arm = json.dumps(DriveArm("target", target, 1).to_json())
    try:
        rows = interruptible(lambda: _core.ask(arm, _BEGUN))
    except DriverError as error:
        for why in (error.detail or "", error.primary):
            if READ_ONLY in why or _OF_POOLER in why:
                return why
        raise
    if rows == [[ON]]:
        return None
    return f"It did not take {READ_ONLY}: functions of the queries might write."
