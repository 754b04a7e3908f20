"""Hosts of a fleet on a Ray cluster: every machine that offers itself, with a keeper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.fleet.matrix.keeper import Keeper, KeptFile, Look
from steelyard.fleet.matrix.matrix import ANY_KIND, Cell
from steelyard.fleet.on_ray.cluster import (
    CALL_S,
    HOST,
    LONG_CALL_S,
    OFFER,
    ONCE,
    Remote,
    connect,
    leave,
    told,
)
from steelyard.model.errors import DriverError

KIND_LABEL = "steelyard-kind"


class KeeperActor:
    """What runs on a host of a fleet: a Keeper whose errors are answers."""

    def __init__(self) -> None:
        self._keeper = Keeper()

    def do(self, method: str, *arguments: Any) -> Any:
        """Call the keeper."""
        return told(lambda: getattr(self._keeper, method)(*arguments))


class RayHost(Remote):
    """One host of a fleet; implements Host."""

    def __init__(self, actor: Any, name: str, kind: str) -> None:
        super().__init__(actor, name)
        self.kind = kind

    def begin(self, cell: Cell) -> bool:
        """See Host."""
        return bool(self.call("do", "begin", cell, patience_s=CALL_S))

    def look(self) -> Look:
        """See Host."""
        seen: Look = self.call("do", "look", patience_s=LONG_CALL_S)
        return seen

    def manifest(self) -> Mapping[str, KeptFile]:
        """See Host."""
        files: Mapping[str, KeptFile] = self.call("do", "manifest", patience_s=LONG_CALL_S)
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
    """Every machine of a cluster that offers `steelyard_host`, with a keeper; implements Hosts.

    Its kind is what its label `steelyard-kind` says.
    """

    def __init__(self, address: str | None = None) -> None:
        """UsageError: Ray is not installed. DriverError: no cluster, or no host in it."""
        self._hosts: dict[str, RayHost] = {}
        connect(address)
        try:
            if not self.hosts():
                raise DriverError(f"no machine of the Ray cluster offers {HOST}", hint=OFFER)
        except BaseException:
            self.close()
            raise

    def hosts(self) -> Sequence[RayHost]:
        """Those that are there now: one that joined the cluster since is among them, and one whose
        keeper was lost has another."""
        import ray

        for node in ray.nodes():
            known = self._hosts.get(node["NodeID"])
            if known is not None and not known.lost:
                continue
            if node["Alive"] and HOST in node["Resources"]:
                self._hosts[node["NodeID"]] = _host_on(node, known)
        return [one for one in self._hosts.values() if not one.lost]

    def close(self) -> None:
        """End what runs on the hosts, and leave the cluster; safe to call twice."""
        for host in self._hosts.values():
            with suppress(DriverError):  # it is gone already
                host.end()
            host.kill()
        self._hosts.clear()
        leave()


def _host_on(node: Mapping[str, Any], before: RayHost | None) -> RayHost:
    """A new keeper on a node, under a name of its own."""
    kind = node.get("Labels", {}).get(KIND_LABEL, ANY_KIND)
    name = f"{node['NodeManagerHostname']}/{node['NodeID'][:8]}"
    return RayHost(_keeper_on(node["NodeID"]), name if before is None else f"{before.name}+", kind)


def _keeper_on(node: str) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    options = {**ONCE, "scheduling_strategy": there}
    return ray.remote(KeeperActor).options(**options).remote()
