"""A load driver in memory that follows the script of its world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DriveArm, DrivePlan, SliceRequest

if TYPE_CHECKING:
    from story.scripted import ScriptedWorld


@dataclass
class ScriptedDriver:
    """Answers slices by a speed for each arm; may lose an arm, or be interrupted, on the way."""

    world: ScriptedWorld
    plan: DrivePlan
    life: int
    closed: bool = False

    @property
    def connected(self) -> Mapping[str, Sequence[int]]:
        return {
            arm.name: [1000 * (number + 1) + client for client in range(arm.clients)]
            for number, arm in enumerate(self.plan.arms)
        }

    @property
    def io(self) -> str:
        return "scripted"

    def run(self, slices: Sequence[SliceRequest]) -> Iterator[SliceAnswer]:
        for request in slices:
            arm = self.plan.arms[request.arm]
            count, length_ns = request.count, request.length_ns
            count = arm.clients * request.each if request.each else count
            self.world.rate = request.rate
            by_count = round(count / self._speed(arm) * 1e9) if count else None
            yield self._slice(arm, min(n for n in (length_ns, by_count) if n))

    def close(self) -> None:
        self.closed = True

    def _speed(self, arm: DriveArm) -> float:
        """Transactions per second: those of the script, slowed by the weight the arm carries."""
        free, weight = self.world.speed(arm.name, self.life), arm.weight
        stalled = weight.stall * weight.stall_ns * free / (1e9 * arm.clients)
        return free / (1 + weight.double_work + stalled)

    def _slice(self, driven: DriveArm, length_ns: int) -> SliceAnswer:
        world, arm, clients = self.world, driven.name, driven.clients
        world.slices += 1
        for event in world.events.pop(world.slices, []):
            event()
        lost = not world.alive(arm)
        awake = [name for name, one in world.running_arms.items() if not one.suspended]
        assert arm in awake or not world.running_arms, "load on an arm that stands still"
        world.awake.append(tuple(awake))
        noise = 1 + world.noise * world.draw.gauss(0, 1)
        done = 0 if lost else round(self._speed(driven) * noise * length_ns / 1e9)
        started, world.clock.now = world.clock.now, world.clock.now + length_ns
        busy = clients * length_ns
        scripts = [{"name": "scripted", "transactions": done, "latency": world.histogram}]
        answer = {
            "arm": arm,
            "tag": None,
            "start_ns": started,
            "end_ns": world.clock.now,
            "length_ns": length_ns,
            "clients": clients,
            "transactions": done,
            "busy_ns": busy,
            "latency_sum_ns": busy if done else 0,
            "failed": clients if lost else 0,
            "errors": {"57P01": clients} if lost else {},
            "rows": done,
            "wrong_rows": world.wrong_rows.get(arm, 0),
            "capped": 0,
            "retries": 0,
            "late_starts": 0,
            "lost": clients if lost else 0,
            "driver_cpu_ns": length_ns // 100_000,
            "scripts": scripts,
        }
        world.distort(answer)
        world.previous = arm
        return SliceAnswer.of_json(answer)


@dataclass(frozen=True)
class ScriptedDrivers:
    """Load drivers that follow the script."""

    world: ScriptedWorld
    machines: int = 1

    def start(self, plan: DrivePlan) -> ScriptedDriver:
        world = self.world
        world.lives += 1
        serving = world.noop.journal.serving
        world.running_arms = {
            arm.name: serving[arm.endpoint.port] for arm in plan.arms if arm.name not in world.far
        }
        world.plans_driven.append(plan)
        return ScriptedDriver(world, plan, world.lives)

    def build_profile(self) -> str:
        return self.world.profile
