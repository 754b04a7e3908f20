"""Puts load on the running arms: connects the driver, places the backends, runs visits.

A *visit* is one slice of one arm with what belongs to it. With cost "foreground" the driver runs a
whole list of slices by itself; with cost "whole" every arm's background processes are held still
outside its own visits, and a visit ends with the arm paying its debt. Where an arm carries a weight
of background work, its visit ends with that work, and cost "whole" charges it as part of the debt.
With cost "cycles" (turns) one arm runs by itself, and only such a weight is charged as a debt: what
else it leaves to the background happens within the checkpoint cycles that are measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from steelyard.driver.answer import Arrivals, AtBorders, SliceAnswer
from steelyard.driver.plan import (
    DriveArm,
    DrivePlan,
    DriveScript,
    DriveWeight,
    SliceRequest,
    Variable,
)
from steelyard.engines.capabilities.checkpoints import CheckpointSession
from steelyard.engines.capabilities.life import Freezable, Placeable
from steelyard.engines.engine import Instance
from steelyard.engines.loading import HoldsWorkload
from steelyard.model.errors import EngineError, StudyError
from steelyard.model.readings import Reading
from steelyard.model.units import format_duration
from steelyard.record.plan import Stall
from steelyard.record.slice import SliceLine
from steelyard.running.laboratory import Laboratory, WorkloadData
from steelyard.running.measuring.arm_loss import require_standbys
from steelyard.running.measuring.background_work import BackgroundWork, Stalls
from steelyard.running.measuring.observation import checkpointer_of
from steelyard.running.preparing.standbys_and_poolers import endpoint_of
from steelyard.running.replaying import replay_begins
from steelyard.study.design import Design
from steelyard.study.study import Study
from steelyard.telemetry.devices import DeviceCounts
from steelyard.workloads.reading.scripts import Script

DRAIN_CAP_NS = 5_000_000_000
"""Longest wait for clients after the bell, beside what their scripts sleep; a stuck one is
cancelled and charged until then."""


@dataclass(frozen=True)
class SlicePlace:
    """Where slices stand in the record."""

    epoch: int
    attempt: int = 1
    run: int | None = None  # of the pilot: number of its series
    slots: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Visit:
    """One slice that is to be run, and where it stands in the epoch."""

    arm: str
    length_ns: int | None  # None: by executions
    kind: str  # "pilot", "warmup", "measured", "beyond"
    block: int
    position: int
    each: int | None = None  # executions of each client
    script: str | None = None  # which one, where scripts are taken in turn and each is a visit
    excluded: bool = False  # whether this one is in no geometric mean
    arrivals: Arrivals | None = None  # at a rate; None: clients begin as soon as they can


def lay_out(
    design: Design,
    epoch: int,
    warmup_blocks: int,
    measured_blocks: int,
    *,
    length_ns: int | None = None,
    each: int | None = None,
    scripts: Sequence[str] = (),
    excluded: Collection[str] = (),
) -> tuple[list[Visit], list[Visit]]:
    """The warm-up and the measured visits of an epoch: in each block every arm once, as drawn.

    Of `scripts` a block takes one, in turn; those `excluded` are in no geometric mean.
    """
    every = [
        Visit(
            arm=design.arms[arm],
            length_ns=length_ns,
            kind="warmup" if block < warmup_blocks else "measured",
            block=block - warmup_blocks,
            position=position,
            each=each,
            script=scripts[block % len(scripts)] if scripts else None,
            excluded=bool(scripts) and scripts[block % len(scripts)] in excluded,
        )
        for block, order in enumerate(design.blocks(epoch, warmup_blocks + measured_blocks))
        for position, arm in enumerate(order)
    ]
    cut = warmup_blocks * len(design.arms)
    return every[:cut], every[cut:]


def longest_pause_ns(scripts: Iterable[Script]) -> int:
    """About the longest that a transaction of any of these scripts sleeps by itself."""
    return max((script.pause_ns for script in scripts), default=0)


def require_no_long_pause(study: Study, scripts: Sequence[Script]) -> None:
    """StudyError where slices are cut by time and transactions sleep for longer than a border may
    take: the pilot alone has hundreds of borders, and each would wait for the last client."""
    pause_ns = longest_pause_ns(scripts)
    if study.budget.counted is not None or pause_ns <= DRAIN_CAP_NS:
        return
    slowest = next(script.name for script in scripts if script.pause_ns == pause_ns)
    raise StudyError(
        f'cannot cut slices by time: a transaction of script "{slowest}" sleeps for up to about '
        f"{format_duration(pause_ns)}",
        detail="At the end of every slice its last client would be waited for.",
        hint='Cut them by executions, --set "budget.counted={each = 1, blocks = 2, warmup = 0}", '
        "or put such a load on one server: steelyard drive.",
    )


class Load:
    """The driver's connections to every arm of one epoch."""

    def __init__(
        self,
        laboratory: Laboratory,
        study: Study,
        arms: Mapping[str, Instance],
        *,
        data: WorkloadData,
        cost: str,
        placement: str,
        seed: int,
        stalls: Stalls | None = None,
    ) -> None:
        self._arms = dict(arms)
        self._names = list(arms)
        scripts = data.scripts
        self._placement = placement
        self._whole = cost == "whole"
        self._charges_left = cost == "cycles"
        self._background = BackgroundWork({a.name: a.weight.background for a in study.every_arm})
        processors = self._processors = list(laboratory.host.processors())
        threads = thread_count(study, processors)
        self._machine = laboratory.host.in_slices()
        self._borders: AtBorders | None = None
        pace = study.workload.pace
        replay = None if pace is None else data.replay(pace)
        self._from_ns = dict.fromkeys(arms, replay_begins(replay, seed))
        """Where the next slice of each arm begins among recorded arrivals; None: there are none."""
        plan = DrivePlan(
            threads=threads,
            processors=driver_processors(processors, placement),
            seed=seed,
            mode=study.workload.mode or "prepared",
            orders=numbered(study.workload.streams, scripts),
            replay=replay,
            drain_cap_ns=DRAIN_CAP_NS + 2 * longest_pause_ns(scripts),
            scripts=driven(scripts),
            variables=_variables(data, study),
            tables=data.tables,
            timed=data.timed,
            connect=study.workload.reconnect,
            files=self._machine.paths,
            arms=tuple(
                _drive_arm(study, name, arms[name], (stalls or {}).get(name))
                for name in self._names
            ),
        )
        self._checkpointers: dict[str, CheckpointSession] = {}
        self._driver = laboratory.drivers.start(plan)
        try:
            for name in self._names:
                self._place(name, enumerate(self._driver.connected[name]))
            if self._whole:
                for name, instance in self._arms.items():
                    self._checkpointers[name] = checkpointer_of(instance)
                    _freezable(instance).freeze()
        except BaseException:
            self.close()
            raise

    @property
    def io(self) -> str:
        """How the driver's bytes come and go."""
        return self._driver.io

    def close(self) -> None:
        """Thaw every arm and disconnect; safe to call twice."""
        for instance in self._arms.values():
            if isinstance(instance, Freezable):
                instance.thaw()
        for checkpointer in self._checkpointers.values():
            checkpointer.close()
        self._driver.close()

    def run(self, visits: Sequence[Visit], place: SlicePlace) -> Iterator[SliceLine]:
        """Run visits in order; one line a visit as it ends, `debt_ns` among its numbers."""
        if not self._whole and not self._background:
            requests = [self._request(visit) for visit in visits]
            for visit, answer in zip(visits, self._driver.run(requests), strict=True):
                self._place_again(answer)
                self._note(visit, answer)
                yield slice_line(visit, place, answer)
            return
        for visit in visits:
            paid_ns = 0
            if self._whole:
                answer, left_ns, paid_ns = self._visit_whole(visit)
            else:
                answer, left_ns = self._visit_alone(visit)
            self._note(visit, answer)
            charged_ns = left_ns if self._whole or self._charges_left else 0
            yield slice_line(visit, place, answer, left_ns=left_ns, debt_ns=charged_ns + paid_ns)

    def machine_readings(self, arm: str) -> tuple[Reading, ...]:
        """What the machine did in the measured slices of an arm so far."""
        return self._machine.readings(arm)

    def device_use(self) -> DeviceCounts | None:
        """What the devices beneath the slots did in the last slice, added up; None: not seen."""
        last = self._borders
        return None if last is None else self._machine.devices_between(last.before, last.after)

    def _note(self, visit: Visit, answer: SliceAnswer) -> None:
        require_standbys(visit.arm, self._arms[visit.arm])
        self._borders = answer.files
        if visit.kind == "measured" and answer.files is not None:
            took_ns = answer.end_ns - answer.start_ns
            self._machine.add(visit.arm, answer.files.before, answer.files.after, took_ns)

    def _visit_whole(self, visit: Visit) -> tuple[SliceAnswer, int, int]:
        """The driver's answer, the time of what it left, and that of its CHECKPOINT, both in ns."""
        instance = self._arms[visit.arm]
        freezable = _freezable(instance)
        freezable.thaw()
        # Where one of these raises, as Ctrl-C does, the arm goes on until the load is closed: an
        # error of holding it still would stand in the place of what was raised.
        answer, left_ns = self._drive(visit)
        paid_ns = self._checkpointers[visit.arm].checkpoint() if instance.running else 0
        self._place_again(answer)  # before it is held still: a server may have to be queried
        if instance.running:
            freezable.freeze()
        return answer, left_ns, paid_ns

    def _visit_alone(self, visit: Visit) -> tuple[SliceAnswer, int]:
        """Nothing is frozen, and no checkpoint asked for."""
        answer, left_ns = self._drive(visit)
        self._place_again(answer)
        return answer, left_ns

    def _drive(self, visit: Visit) -> tuple[SliceAnswer, int]:
        """The slice of a visit, then what it left to the background, and the ns of that."""
        request = self._request(visit)
        return self._background.work_off(self._run_slice(request), request.arm, self._run_slice)

    def _run_slice(self, request: SliceRequest) -> SliceAnswer:
        [answer] = self._driver.run([request])
        return answer

    def _request(self, visit: Visit) -> SliceRequest:
        number = self._names.index(visit.arm)
        from_ns = self._from_ns[visit.arm]
        if from_ns is not None and visit.length_ns is not None:
            self._from_ns[visit.arm] = from_ns + visit.length_ns
        rate = visit.arrivals.rate if visit.arrivals else None
        return SliceRequest(number, visit.length_ns, each=visit.each, rate=rate, from_ns=from_ns)

    def _place(self, arm: str, backends: Iterable[tuple[int, int]]) -> None:
        """Pin backends, each with the number of its client, as the placement says."""
        affinities = backend_processors(dict(backends), self._processors, self._placement)
        if not affinities:
            return
        instance = self._arms[arm]
        if not isinstance(instance, Placeable):
            raise EngineError(f'cannot place the backends of arm "{arm}"')
        instance.place(affinities)

    def _place_again(self, answer: SliceAnswer) -> None:
        """A client that was cancelled or thrown out came back with another backend.

        The driver has gone on meanwhile and may have lost that one too: then it is left out, and
        the line of a later slice tells of the next.
        """
        if answer.reconnected and self._arms[answer.arm].running:
            self._place(answer.arm, answer.reconnected)


def thread_count(study: Study, processors: Sequence[int]) -> int:
    """The driver's threads: the study's number, else one a processor and no more than clients."""
    return study.workload.threads or min(len(processors), study.workload.clients)


def driver_processors(processors: Sequence[int], placement: str) -> tuple[int, ...] | None:
    """Processors of the driver's threads (thread i on the i-th, in turn); None: left free."""
    if placement == "symmetric":
        return tuple(processors)
    if placement == "partition":
        return tuple(processors[: max(1, len(processors) // 4)])
    return None


def backend_processors(
    backends: Mapping[int, int], processors: Sequence[int], placement: str
) -> dict[int, list[int]]:
    """Backend process id → its processors, the same for every arm; empty: left free. `backends`:
    client number → backend process id.

    Symmetric: backend k on the k-th allowed processor in turn, beside the driver's thread that
    serves client k. Partition: any processor that the driver does not use.
    """
    if placement == "symmetric":
        return {pid: [processors[k % len(processors)]] for k, pid in backends.items()}
    if placement == "partition":
        reserved = set(driver_processors(processors, placement) or ())
        rest = [number for number in processors if number not in reserved] or list(processors)
        return dict.fromkeys(backends.values(), rest)
    return {}


def _variables(data: WorkloadData, study: Study) -> dict[str, Variable]:
    """What every script sees. The pilot may have chosen another number of clients than the study,
    which a variable of the study's own does not follow."""
    variables: dict[str, Variable] = dict(data.variables)
    if "clients" in variables and "clients" not in study.workload.variables:
        variables["clients"] = study.workload.clients
    return variables


def _drive_arm(study: Study, name: str, instance: Instance, stall: Stall | None) -> DriveArm:
    arm = next(arm for arm in study.every_arm if arm.name == name)
    stall = stall or Stall(probability=0.0, length_ns=0)
    driven = DriveWeight(arm.weight.double_work, stall.probability, stall.length_ns)
    begins = instance.workload_database().session if isinstance(instance, HoldsWorkload) else ()
    clients = study.workload.clients
    return DriveArm(name, endpoint_of(instance, arm, clients), clients, driven, begins)


def driven(scripts: Iterable[Script]) -> tuple[DriveScript, ...]:
    """Scripts as the driver takes them; each transaction's rows are counted."""
    return tuple(DriveScript(s.name, s.text, s.weight, s.rows) for s in scripts)


def numbered(
    streams: Sequence[Sequence[str]], scripts: Sequence[Script]
) -> tuple[tuple[int, ...], ...]:
    """Streams by the numbers of their scripts. StudyError: one is not among them."""
    numbers = {script.name: number for number, script in enumerate(scripts)}
    for name in (name for stream in streams for name in stream):
        if name not in numbers:
            raise StudyError(f'workload.streams: script "{name}" is not driven')
    return tuple(tuple(numbers[name] for name in stream) for stream in streams)


def _freezable(instance: Instance) -> Freezable:
    if not isinstance(instance, Freezable):
        raise EngineError(
            f"engine cannot hold its background work still: {instance.identity.kind}",
            hint='Weigh with cost = "foreground".',
        )
    return instance


def slice_line(
    visit: Visit, place: SlicePlace, answer: SliceAnswer, *, left_ns: int = 0, debt_ns: int = 0
) -> SliceLine:
    """What the record keeps of a visit; `left_ns`: see `BackgroundWork`; `debt_ns`: charged."""
    where: dict[str, object] = {
        "epoch": place.epoch,
        **({"attempt": place.attempt} if place.run is None else {"run": place.run}),
        **({"slot": place.slots[visit.arm]} if place.slots else {}),
        **{"kind": visit.kind, "block": visit.block, "position": visit.position},
        **({} if visit.script is None else {"script": visit.script}),
        **({"excluded": True} if visit.excluded else {}),
        **({"length_ns": None} if visit.length_ns is None else {}),  # it had no bell
        **({"left_ns": left_ns} if left_ns else {}),
        **({} if visit.arrivals is None else asdict(visit.arrivals.figures(answer))),
    }
    return answer.placed(**where, debt_ns=debt_ns)
