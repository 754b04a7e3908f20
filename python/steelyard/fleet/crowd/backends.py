"""Ends what the clients of a lost machine left on the servers, by the ids of their backends.

A server learns late that a machine is gone: until then its backends keep their locks, which would
stand in the next epoch's way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from steelyard import _core
from steelyard.driver.plan import DriveArm
from steelyard.model.endpoint import POSTGRES
from steelyard.model.errors import DriverError

_END = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE pid IN ({pids}) AND usename = current_user AND application_name = '{name}'
"""


def end_backends(arms: Sequence[DriveArm], backends: Mapping[str, Sequence[int]]) -> int:
    """Terminate those of the backends that are still there, by arm; how many there were.

    Another session of the user that has got one of these numbers since is spared by its
    application name. Other servers than PostgreSQL's are left to find out by themselves.
    """
    ended = 0
    for arm in arms:
        pids = backends.get(arm.name, ())
        if not pids or arm.endpoint.protocol != POSTGRES:
            continue
        name = arm.endpoint.application_name.replace("'", "''")
        sql = _END.format(pids=", ".join(str(int(pid)) for pid in pids), name=name)
        with suppress(DriverError):  # a server that is gone has no backends
            [[found]] = _core.ask(json.dumps(replace(arm, clients=1).to_json()), sql)
            ended += int(found or 0)
    return ended
