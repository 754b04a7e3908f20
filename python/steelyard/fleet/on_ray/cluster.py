"""Joins a Ray cluster, calls its actors, once each and with a limit to every wait, and has an agent
on every machine that offers itself as a host of a fleet.

Ray carries orders and answers, never transactions. Ray retries nothing by itself (`max_restarts=0`,
`max_task_retries=0`). Ray notices after 15 to 55 seconds that a machine is gone (health_check_* in
ray_config_def.h), so every call has a deadline of its own.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

from steelyard.fleet.load_generators.client_partition import require_fit
from steelyard.fleet.load_generators.load_agent import LoadMachineFacts, LostError, machine_facts
from steelyard.fleet.matrix.host_agent import HostAgent, JobStatus, RecordFile
from steelyard.fleet.matrix.matrix import ANY_KIND, MatrixCell
from steelyard.model.errors import DriverError, SteelyardError, UsageError

HOST = "steelyard_host"
"""The resource of which a machine that may be used offers 1; so no two loads share one."""
OFFER = f"--resources='{{\"{HOST}\": 1}}'"
ANSWER_S = 5.0
CALL_S = 10.0
WATCH_S = 5.0
LONG_CALL_S = 180.0
"""Longest until every client is connected, or until all have stopped."""
ONCE = {"num_cpus": 0, "resources": {HOST: 1}, "max_restarts": 0, "max_task_retries": 0}
"""Of every actor: it has its machine for itself, and is neither started nor called again."""


_JOINED = ExitStack()
"""Held while a cluster is joined: Ray prints there that a node died (listen_error_messages of
ray/_private/worker.py), which is no part of a result."""


@dataclass(frozen=True)
class Failure:
    """An error as it crosses: its three parts."""

    primary: str
    detail: str | None
    hint: str | None


def with_ray_errors(do: Callable[[], Any]) -> Any:
    """What it returns, or its error as a value."""
    try:
        return do()
    except SteelyardError as error:
        return Failure(error.primary, error.detail, error.hint)


class Remote:
    """An actor that is called with a limit to every wait."""

    def __init__(self, actor: Any, name: str) -> None:
        self.actor = actor
        self.name = name
        self.lost = False

    def kill(self) -> None:
        """End the actor; its driver ends when its input does."""
        import ray

        self.lost = True
        with suppress(ray.exceptions.RayError, ValueError):  # it is gone already
            ray.kill(self.actor, no_restart=True)

    def call(self, method: str, *arguments: Any, patience_s: float) -> Any:
        """What a method answers. DriverError: its own. LostError: there was no answer in time."""
        return _unwrapped(self._answer(self._ask(method, arguments), patience_s))

    def call_watched(self, method: str, *arguments: Any) -> Any:
        """The same of what takes any time: meanwhile the actor must answer to `alive`."""
        import ray

        reference = self._ask(method, arguments)
        while not ray.wait([reference], timeout=WATCH_S)[0]:
            if self.lost:
                raise LostError("its Ray actor is gone")
            self.call("alive", patience_s=CALL_S)
        return _unwrapped(self._answer(reference, CALL_S))

    def _ask(self, method: str, arguments: Sequence[Any]) -> Any:
        return getattr(self.actor, method).remote(*arguments)

    def _answer(self, reference: Any, patience_s: float) -> Any:
        import ray

        try:
            return ray.get(reference, timeout=patience_s)
        except ray.exceptions.GetTimeoutError as error:
            self.lost = True
            raise LostError(
                f"no answer within {patience_s:.0f} s",
                detail="It stands still, or the network between it and this machine is gone.",
            ) from error
        except ray.exceptions.RayError as error:
            self.lost = True
            raise LostError("its Ray actor is gone", detail=str(error).strip()) from error


def _unwrapped(answer: Any) -> Any:
    if isinstance(answer, Failure):
        raise DriverError(answer.primary, detail=answer.detail, hint=answer.hint)
    return answer


def connect(address: str | None) -> None:
    """Join the cluster at an address, or the one that runs here. UsageError: Ray is not installed.
    DriverError: no cluster, or one of another version."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "Ray is not installed", hint="Install it: pip install 'steelyard[fleet]'"
        ) from error
    leave()  # what is left of an earlier one
    try:
        _require_answer(address)
        _JOINED.enter_context(redirect_stdout(sys.stderr))
        with _own_signals():
            ray.init(
                address=address or "auto",
                namespace="steelyard",
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (OSError, RuntimeError, ValueError) as error:
        leave()
        where = f'at "{address}"' if address else "on this machine"
        raise DriverError(
            f"could not join a Ray cluster {where}",
            detail=str(error).strip(),
            hint="Start one, with the same Ray and Python everywhere: `ray start --head` here, and "
            f"on each load machine `ray start --address=HERE:6379 {OFFER}`.",
        ) from error


def leave() -> None:
    """Leave the cluster; safe to call twice, and of none that was joined."""
    import ray

    ray.shutdown()
    _JOINED.close()


def _require_answer(address: str | None) -> None:
    """OSError where nothing listens at `HOST:PORT`: Ray itself would try for a minute."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; a weighing that is ended tidies up, so it is given back."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


KIND_LABEL = "steelyard-kind"
JOIN_S = 60.0
"""Longest until an agent has been started on its machine and answers."""
MOST_AGENTS = 5
"""One after the other on a machine, which loses them."""


class HostAgentActor:
    """What runs on a host of a fleet: a HostAgent whose errors are answers."""

    def __init__(self) -> None:
        self._agent = HostAgent()

    def facts(self) -> LoadMachineFacts:
        """Of its machine; the first answer of an agent that has been started."""
        return machine_facts()

    def do(self, method: str, *arguments: Any) -> Any:
        """Call the agent."""
        return with_ray_errors(lambda: getattr(self._agent, method)(*arguments))


class RayHost(Remote):
    """One host of a fleet; implements Host."""

    def __init__(self, actor: Any, name: str, kind: str, facts: LoadMachineFacts) -> None:
        super().__init__(actor, name)
        self.kind = kind
        self.facts = facts

    @property
    def machine(self) -> Sequence[str]:
        """See Host."""
        return self.facts.identity

    def begin(self, cell: MatrixCell) -> bool:
        """See Host."""
        return bool(self.call("do", "begin", cell, patience_s=LONG_CALL_S))

    def job_status(self) -> JobStatus:
        """See Host."""
        status: JobStatus = self.call("do", "job_status", patience_s=LONG_CALL_S)
        return status

    def manifest(self) -> Mapping[str, RecordFile]:
        """See Host."""
        files: Mapping[str, RecordFile] = self.call("do", "manifest", patience_s=LONG_CALL_S)
        return files

    def chunk(self, name: str, offset: int) -> bytes:
        """See Host."""
        piece: bytes = self.call("do", "chunk", name, offset, patience_s=LONG_CALL_S)
        return piece

    def end(self) -> None:
        """See Host."""
        if not self.lost:
            self.call("do", "end", patience_s=LONG_CALL_S)


class RayHosts:
    """Every machine of a cluster that offers `steelyard_host`, with an agent; implements Hosts.

    Its kind is what its label `steelyard-kind` says. `says` gets a line for a machine that is left
    out because it does not answer, or has another Steelyard.
    """

    def __init__(self, address: str | None, says: Callable[[str], None]) -> None:
        """UsageError: Ray is not installed. DriverError: no cluster, no host in it, or one with
        another Steelyard."""
        self._hosts: dict[str, RayHost] = {}
        self._agents: Counter[str] = Counter()
        self._left_out: set[str] = set()
        self._says = says
        self._own = machine_facts()
        connect(address)
        try:
            joined = dict(self._join())
            self._hosts |= joined
            if not joined:
                raise DriverError(f"no machine of the Ray cluster offers {HOST}", hint=OFFER)
            require_fit([host.facts for host in joined.values()], {}, self._own)
        except BaseException:
            self.close()
            raise

    def hosts(self) -> Sequence[RayHost]:
        """Those that are there now: one that joined the cluster since is among them, and one whose
        agent was lost has another."""
        for node, host in self._join():
            try:
                require_fit([host.facts], {}, self._own)
            except DriverError as error:
                host.kill()
                self._leave_out(node, host.name, f"{error.primary}: {host.facts.version}")
            else:
                self._hosts[node] = host
        return [host for host in self._hosts.values() if not host.lost]

    def close(self) -> None:
        """End what runs on the hosts, and leave the cluster; safe to call twice."""
        for host in self._hosts.values():
            with suppress(DriverError):  # it is gone already
                host.end()
            host.kill()
        self._hosts.clear()
        leave()

    def _join(self) -> Iterator[tuple[str, RayHost]]:
        """An agent on every machine that has none: all are started at once, and waited for."""
        import ray

        nodes = {node["NodeID"]: node for node in ray.nodes() if self._lacks_agent(node)}
        for node in nodes:
            if node in self._hosts:
                self._hosts[node].kill()  # a lost one may still hold its machine
        actors = {node: _agent_on(node) for node in nodes}
        requests = {actor.facts.remote(): node for node, actor in actors.items()}
        if not requests:
            return
        ready, silent = ray.wait([*requests], num_returns=len(requests), timeout=JOIN_S)
        why = dict.fromkeys(silent, f"its agent does not answer within {JOIN_S:.0f} s")
        for answer in ready:
            node = requests[answer]
            try:
                facts = ray.get(answer)
            except ray.exceptions.RayError as error:
                why[answer] = str(error).strip().partition("\n")[0]
                continue
            self._agents[node] += 1
            kind = nodes[node].get("Labels", {}).get(KIND_LABEL, ANY_KIND)
            name = _name(nodes[node], self._agents[node])
            yield node, RayHost(actors[node], name, kind, facts)
        for answer, reason in why.items():
            ray.kill(actors[requests[answer]], no_restart=True)
            self._leave_out(requests[answer], _name(nodes[requests[answer]], 1), reason)

    def _lacks_agent(self, node: Mapping[str, Any]) -> bool:
        host = self._hosts.get(node["NodeID"])
        return (
            (host is None or host.lost)
            and node["NodeID"] not in self._left_out
            and self._agents[node["NodeID"]] < MOST_AGENTS
            and node["Alive"]
            and HOST in node["Resources"]
        )

    def _leave_out(self, node: str, name: str, why: str) -> None:
        self._left_out.add(node)
        self._says(f"left out host {name}: {why}")


def _name(node: Mapping[str, Any], agent: int) -> str:
    """Of a host; each agent of a machine has one of its own."""
    name = f"{node['NodeManagerHostname']}/{node['NodeID'][:8]}"
    return name if agent == 1 else f"{name}+{agent - 1}"


def _agent_on(node: str) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    options = {**ONCE, "scheduling_strategy": there}
    return ray.remote(HostAgentActor).options(**options).remote()
