"""Finds the load machines of a weighing or of a load that several of them do together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.fleet.load_generators.drivers import DriverGroups
    from steelyard.fleet.row_copying import LoadMachines
    from steelyard.model.endpoint import Endpoint
    from steelyard.study.study import Study

_MORE = "option --ray names the cluster of load machines: add --machines N"


def machine_changes(machines: int | None) -> list[str]:
    """The key of the study that `--machines` stands for."""
    from steelyard.study.change import Change

    return [] if machines is None else [Change("workload.machines", machines)]


@contextmanager
def load_machines(study: Study, ray: str | None) -> Iterator[DriverGroups | None]:
    """The drivers of the study's load machines, reserved until the end; None where this machine
    drives the load. `ray`: the address of their cluster.

    UsageError: a cluster was named, and the study needs none. DriverError: it has too few machines.
    """
    if study.workload.machines == 1:
        if ray is not None:
            raise UsageError(_MORE)
        yield None
        return
    from steelyard.fleet.load_generators.drivers import DriverGroups
    from steelyard.fleet.on_ray.machines import RayMachines

    reserved = RayMachines(study.workload.machines, ray)
    drivers = DriverGroups(reserved, study.workload.threads or None)
    try:
        yield drivers
    finally:
        drivers.close()


@contextmanager
def copying_machines(
    machines: int | None, ray: str | None, target: Endpoint | None, says: Callable[[str], None]
) -> Iterator[LoadMachines | None]:
    """The machines that make and copy a workload's rows, reserved until the end; None where this
    one does.

    UsageError: there is no server that they could reach. DriverError: as of `load_machines`.
    """
    if machines is None:
        if ray is not None:
            raise UsageError(_MORE)
        yield None
        return
    if target is None:
        raise UsageError("several machines load into a server that they reach: name a TARGET")
    from steelyard.fleet.load_generators.client_partition import require_fit
    from steelyard.fleet.load_generators.load_agent import machine_facts
    from steelyard.fleet.on_ray.machines import RayMachines
    from steelyard.fleet.row_copying import LoadMachines

    reserved = RayMachines(machines, ray)
    try:
        members = reserved.members()
        require_fit([member.facts for member in members], {"the server": target}, machine_facts())
        yield LoadMachines(members, target, says)
    finally:
        reserved.close()
