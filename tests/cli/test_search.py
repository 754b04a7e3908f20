"""A search makes candidates for as many servers as stand at once in the layout that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from steelyard.cli.weighing import search
from steelyard.model.identity import Identity
from steelyard.study.read import read_study
from steelyard.tuning.profile.asking import Accepting
from steelyard.tuning.profile.proposing import Wish
from tuning.profile.accepting import ALLOWED

ACCEPTING = Accepting(
    Identity("postgres", "18.4", 180004, "gcc", "", "", "bundle", "/bin", False), ALLOWED
)


@dataclass(frozen=True)
class Proposed:
    """A profile for so many servers."""

    servers: int
    settings: Mapping[str, str] = field(default_factory=lambda: {"max_wal_size": "8GB"})


def proposed(wish: Wish, *_: object) -> Proposed:
    return Proposed(wish.servers)


@pytest.mark.parametrize(
    ("overrides", "layout", "servers"),
    [
        (["layout=turns"], "turns", 1),
        (["layout=slices"], "slices", search.BATCH + 1),
        (["layout=auto"], "turns", 1),
        (
            ["layout=auto", "workload.name=pgbench", "workload.scripts={select-only = 1}"],
            "slices",
            search.BATCH + 1,
        ),
    ],
)
def test_servers_that_stand_at_once_follow_the_layout_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, overrides: list[str], layout: str, servers: int
) -> None:
    monkeypatch.setattr(search, "propose", proposed)
    request = search.SearchRequest(
        study="tuning", overrides=(), budget=None, trials=4, durability=(), seed=1,
        wish=Wish(name="ours", kind="oltp", clients=8, cap_bytes=None),
        record=None, resume=None, account=None, as_json=False,
    )  # fmt: skip
    study = read_study("tuning", overrides)
    first, taken = search._proposed(request, study, ACCEPTING)
    assert isinstance(first, Proposed)
    assert (taken, first.servers) == (layout, servers)
