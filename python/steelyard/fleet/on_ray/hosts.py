"""Hosts of a fleet on a Ray cluster: every machine that offers itself, with an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.fleet.load_generators.drivers import require_fit
from steelyard.fleet.load_generators.load_agent import LoadMachineFacts, machine_facts
from steelyard.fleet.matrix.host_agent import HostAgent, JobStatus, RecordFile
from steelyard.fleet.matrix.matrix import ANY_KIND, MatrixCell
from steelyard.fleet.on_ray.cluster import (
    HOST,
    LONG_CALL_S,
    OFFER,
    ONCE,
    Remote,
    connect,
    leave,
    with_ray_errors,
)
from steelyard.model.errors import DriverError

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
