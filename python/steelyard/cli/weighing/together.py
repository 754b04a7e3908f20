"""Finds the load machines of a weighing whose load is put on by several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.fleet.crowd.drivers import CrowdDrivers
    from steelyard.study.study import Study


def machine_changes(machines: int | None) -> list[str]:
    """The key of the study that `--machines` stands for."""
    return [] if machines is None else [f"workload.machines={machines}"]


@contextmanager
def load_machines(study: Study, ray: str | None) -> Iterator[CrowdDrivers | None]:
    """The drivers of the study's load machines, reserved until the end; None where this one puts
    the load on. `ray`: the address of their cluster.

    UsageError: a cluster was named, and none is asked for. DriverError: it has too few machines.
    """
    if study.workload.machines == 1:
        if ray is not None:
            raise UsageError("option --ray names the cluster of load machines: add --machines N")
        yield None
        return
    from steelyard.fleet.crowd.drivers import CrowdDrivers
    from steelyard.fleet.on_ray.machines import RayMachines

    reserved = RayMachines(study.workload.machines, ray)
    drivers = CrowdDrivers(reserved, study.workload.threads or None)
    try:
        yield drivers
    finally:
        drivers.close()
