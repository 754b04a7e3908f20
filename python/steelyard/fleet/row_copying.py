"""Hands shares of rows out to several machines; a share of a machine that is lost is made again.

Unlike a weighing, a load goes on with the machines that are left: its rows are the same.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from threading import Condition, Lock
from typing import Protocol

from steelyard.engines.adapters import crossing, end_sessions, own_password, workload_database
from steelyard.engines.loading import Loader, RowShare, copy_share
from steelyard.fleet.load_generators.load_agent import LoadMachineFacts, LostError
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, ServerError, SteelyardError


class Copier(Protocol):
    """One machine of a load, seen from the coordinator. Every call waits for its answer, and raises
    LostError where the machine is gone, DriverError where it says an error."""

    @property
    def name(self) -> str:
        """Unlike that of every other machine."""

    @property
    def facts(self) -> LoadMachineFacts:
        """What was found when it joined."""

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        """Open so many connections to the loaded database of a server, with the machine's own
        password; the numbers by which the server knows them."""

    def copy(self, share: RowShare, session: int) -> int:
        """Make a share and copy it over one of them; its rows. Several at a time, each over a
        session of its own."""

    def disconnect(self) -> None:
        """Close the connections, which rolls back what was begun; safe to call twice, and of a
        machine that is gone."""


class CopySessions:
    """The connections of one machine to the loaded database."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._loaders: list[Loader] = []

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        """See Copier; ServerError: the server's words."""
        self.disconnect()
        database = workload_database(replace(target, password=own_password(target)))
        self._loaders = [self._open.enter_context(database.loader()) for _ in range(sessions)]
        return tuple(loader.session for loader in self._loaders)

    def copy(self, share: RowShare, session: int) -> int:
        """See Copier; ServerError: the server's words."""
        if not self._loaders:
            raise DriverError("the machine is not connected to the server")
        return copy_share(self._loaders[session], share)

    def disconnect(self) -> None:
        """See Copier: what is under way is cancelled."""
        loaders, self._loaders = self._loaders, []
        for loader in loaders:
            loader.cancel()
        with suppress(ServerError):  # a session that the server has ended is closed already
            self._open.close()


SESSIONS = 4
"""Of each machine: one makes rows while the server takes those of another."""
PARTS = 8
"""Of a table, of which no more than one is filled at a time: further apart no two rows lie that one
machine would have put side by side. A table of few shares is filled one by one, beside others."""
There = Callable[[], Iterable[tuple[str, int]]]


@dataclass
class _Machine:
    """A machine, its sessions, and what each of them copies now."""

    copier: Copier
    sessions: tuple[int, ...]
    busy: dict[int, RowShare] = field(default_factory=dict)
    lost: bool = False


class LoadMachines:
    """Machines that copy shares into one database; implements Copiers.

    `target`: how they reach the server. `says` is called for each machine that is lost.
    """

    def __init__(
        self, copiers: Sequence[Copier], target: Endpoint, says: Callable[[str], None]
    ) -> None:
        self._copiers = copiers
        self._target = target
        self.says = says
        self.rows: dict[str, int] = {copier.name: 0 for copier in copiers}
        """Of each machine that it has copied."""
        self.lost: list[str] = []
        """Names of the machines that were lost."""

    @property
    def sessions(self) -> int:
        """Of all machines."""
        return SESSIONS * len(self._copiers)

    def copy(self, shares: Sequence[RowShare], there: There, done: Callable[[int], None]) -> None:
        """See Copiers."""
        machines: list[_Machine] = []
        crossed = crossing(self._target)
        try:
            for copier in self._copiers:
                try:
                    machines.append(_Machine(copier, copier.connect_to(crossed, SESSIONS)))
                except SteelyardError as error:
                    raise _of_machine(copier.name, error) from error
            _Copying(self, machines, shares, there, done).run()
        finally:
            for copier in self._copiers:
                copier.disconnect()

    def end(self, machine: _Machine) -> None:
        """End the sessions of a lost machine, and wait until the server has none of them: what it
        had begun could be committed beside what is made again."""
        try:
            end_sessions(self._target, machine.sessions)
        except ServerError as error:
            raise _of_machine(machine.copier.name, error) from error


class _Copying:
    """One copying: the shares that wait, and those that machines have in hand."""

    def __init__(
        self,
        owner: LoadMachines,
        machines: Sequence[_Machine],
        shares: Sequence[RowShare],
        there: There,
        done: Callable[[int], None],
    ) -> None:
        self._owner, self._machines = owner, machines
        self._waiting = deque(shares)
        counts = Counter(share.table for share in shares)
        self._most = {table: max(1, count // PARTS) for table, count in counts.items()}
        self._there, self._done = there, done
        self._changed = Condition()
        self._asking = Lock()
        self._failed: BaseException | None = None

    def run(self) -> None:
        """Return when the last share is copied; the first error is raised when all machines have
        stopped."""
        with ThreadPoolExecutor(max(1, SESSIONS * len(self._machines)), "copier") as pool:
            works = [
                pool.submit(self._work, machine, session)
                for session in range(SESSIONS)
                for machine in self._machines
            ]
            try:
                wait(works)
            except BaseException as interrupted:
                self._fail(interrupted)
                for machine in self._machines:
                    machine.copier.disconnect()  # ends what is under way
                raise
        if self._failed is not None:
            raise self._failed
        if self._waiting:
            raise DriverError("all load machines are lost", detail=", ".join(self._owner.lost))

    def _work(self, machine: _Machine, session: int) -> None:
        while (share := self._next(machine, session)) is not None:
            try:
                rows = machine.copier.copy(share, session)
            except LostError as error:
                self._lose(machine, error)
                return
            except SteelyardError as error:
                if not machine.lost:
                    self._fail(_of_machine(machine.copier.name, error))
                return
            except BaseException as error:
                self._fail(error)
                raise
            self._copied(machine, session, rows)

    def _next(self, machine: _Machine, session: int) -> RowShare | None:
        """The next share. None: all are copied; while another machine has one in hand that it may
        lose, this waits."""
        with self._changed:
            while True:
                if self._failed is not None or machine.lost:
                    return None
                share = self._in_order()
                if share is not None:
                    self._waiting.remove(share)
                    machine.busy[session] = share
                    return share
                others = (other.busy for other in self._machines if other is not machine)
                if not self._waiting and not any(others):
                    return None
                self._changed.wait()

    def _in_order(self) -> RowShare | None:
        """The first share that waits of a table that may be filled by one session more."""
        in_hand = Counter(share.table for each in self._machines for share in each.busy.values())
        fit = (share for share in self._waiting if in_hand[share.table] < self._most[share.table])
        return next(fit, None)

    def _copied(self, machine: _Machine, session: int, rows: int) -> None:
        with self._changed:
            if machine.lost:  # by another of its sessions: it was found there, or given back
                return
            del machine.busy[session]
            self._owner.rows[machine.copier.name] += rows
            self._changed.notify_all()
        self._done(rows)

    def _lose(self, machine: _Machine, error: LostError) -> None:
        """Give the shares of a lost machine back, but for those that were committed."""
        with self._changed:
            if machine.lost:
                return
            machine.lost = True
        try:
            self._owner.lost.append(machine.copier.name)
            self._owner.says(f'load machine "{machine.copier.name}" is lost: {error.primary}')
            self._owner.end(machine)
            with self._asking:  # several may be lost at a time
                committed = set(self._there())
        except BaseException as failure:  # the others would wait for this machine's shares
            self._fail(failure)
            raise
        with self._changed:
            again = [
                share
                for share in machine.busy.values()
                if (share.table, share.first) not in committed
            ]
            machine.busy.clear()
            self._waiting.extendleft(reversed(again))
            self._changed.notify_all()
        self._owner.says(f"{len(again)} shares are made again")

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._failed = self._failed or error
            self._changed.notify_all()


def _of_machine(name: str, error: SteelyardError) -> DriverError:
    return DriverError(
        f'load machine "{name}": {error.primary}', detail=error.detail, hint=error.hint
    )
