"""Explains a workload's probes: what one access costs, on rows outside the timed workload."""

from __future__ import annotations

from steelyard._core import script_statements
from steelyard.engines.loading import WorkloadDatabase
from steelyard.model.errors import UsageError
from steelyard.workloads.reading.workload import Workload


def explain_probes(
    workload: Workload, database: WorkloadDatabase, scale: int
) -> dict[str, dict[str, int]]:
    """Probe → what its execution counted; in the order of the workload, on one connection."""
    if not workload.probes:
        return {}
    with database.prober() as prober:
        return {
            name: prober.explain(*_resolved(workload, name, text, scale))
            for name, text in workload.probes.items()
        }


def _resolved(workload: Workload, name: str, text: str, scale: int) -> tuple[list[str], str]:
    """The settings that a probe sets before its query, and the query, variables filled in."""
    variables = {name: str(value) for name, value in workload.variables(scale).items()}
    try:
        *settings, query = script_statements(name, text, variables)
    except ValueError as error:
        raise UsageError(
            f'workload "{workload.name}": probe "{name}" is wrong', detail=str(error)
        ) from error
    return settings, query
