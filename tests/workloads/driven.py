"""Drives the scripts of a workload against a server, so many times each client."""

from __future__ import annotations

from dataclasses import replace

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.loading import DATABASE
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.reading.scripts import Script, resolve_scripts
from steelyard.workloads.reading.workload import Workload


def plan_of(
    workload: Workload, address: Endpoint, scale: int, clients: int
) -> tuple[DrivePlan, list[Script]]:
    """One arm that is driven with the workload's own mix or streams, and its scripts."""
    scripts = resolve_scripts(workload, workload.mix(), scale)
    numbers = {script.name: number for number, script in enumerate(scripts)}
    streams = workload.streams_of(clients)
    plan = DrivePlan(
        arms=(DriveArm("arm", replace(address, database=DATABASE), clients=clients),),
        scripts=tuple(DriveScript(s.name, s.text, s.weight, s.rows) for s in scripts),
        orders=tuple(tuple(numbers[name] for name in stream) for stream in streams),
        threads=min(2, clients),
        mode=workload.mode,
        seed=7,
        variables={"clients": clients, **workload.variables(scale)},
    )
    return plan, scripts


def drive(
    workload: Workload, address: Endpoint, scale: int, each: int, clients: int = 4
) -> tuple[SliceAnswer, list[Script]]:
    """The line of one slice of the workload's own mix, and its scripts; nothing may have failed."""
    plan, scripts = plan_of(workload, address, scale, clients)
    with Driver.start(plan) as driver:
        [line] = driver.run([SliceRequest(arm=0, each=each, length_ns=60_000_000_000)])
    told = (line.errors, line.failed, line.wrong_rows)
    assert told == ({}, 0, 0), line
    assert line.transactions == each * clients
    return line, scripts
