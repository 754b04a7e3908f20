"""Runs a Ray cluster of several nodes on this machine, with what spoils a measurement off."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
STORE_BYTES = 80 << 20
DRIVER = "steelyard.driver.process"


@contextmanager
def cluster_of(hosts: int) -> Iterator[Any]:
    """A head without work, and so many load machines; all gone at the end."""
    before = dict(os.environ)
    os.environ.update(QUIET)
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(hosts):
            add_host(cluster)
        yield cluster
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


def add_host(cluster: Any, kind: str | None = None) -> Any:
    """One more machine that offers itself."""
    return cluster.add_node(
        num_cpus=1,
        resources={"steelyard_host": 1},
        object_store_memory=STORE_BYTES,
        labels={} if kind is None else {"steelyard-kind": kind},
    )


def processes_of(node: Any) -> list[psutil.Process]:
    """Everything that runs for a node: its raylet, its agents, its workers and their children."""
    processes: dict[int, psutil.Process] = {}
    for kind in node.all_processes.values():
        for info in kind:
            try:
                process = psutil.Process(info.process.pid)
                for each in (process, *process.children(recursive=True)):
                    processes[each.pid] = each
            except psutil.NoSuchProcess:
                continue
    return list(processes.values())


def drivers_of(node: Any) -> list[psutil.Process]:
    """The load drivers that run on a node; each one's parent is its actor."""
    drivers = []
    for process in processes_of(node):
        try:
            if DRIVER in process.cmdline():
                drivers.append(process)
        except psutil.NoSuchProcess:
            continue
    return drivers
