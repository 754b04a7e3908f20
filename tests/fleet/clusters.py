"""A Ray cluster of several nodes on this machine, as the live validation has it."""

from __future__ import annotations

from validation.load_nodes import QUIET, add_host, cluster_of

__all__ = ["QUIET", "add_host", "cluster_of"]
