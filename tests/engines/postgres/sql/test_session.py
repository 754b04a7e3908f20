"""A CHECKPOINT is timed; one that was not made is no debt of nothing."""

from __future__ import annotations

from contextlib import closing

import pytest

from engines.postgres.sql.conftest import SETTINGS, Server
from own_cache import own_server
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.session import Checkpoints
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.postgres
NOT_MADE = "could not make the server write what it owes"


def test_a_checkpoint_is_timed(server: Server) -> None:
    with closing(Checkpoints(server.conninfo)) as checkpoints:
        assert checkpoints.checkpoint() > 0


def test_a_checkpoint_that_is_refused_is_an_error_in_the_servers_words(server: Server) -> None:
    with server.connect() as admin:
        admin.execute("DROP ROLE IF EXISTS nobody_in_particular")
        admin.execute("CREATE ROLE nobody_in_particular LOGIN")
        conninfo = server.conninfo.replace("user=postgres", "user=nobody_in_particular")
        assert conninfo != server.conninfo
        with closing(Checkpoints(conninfo)) as checkpoints:
            with pytest.raises(ServerError, match=NOT_MADE) as refused:
                checkpoints.checkpoint()
            assert "CHECKPOINT" in (refused.value.detail or "")
        admin.execute("DROP ROLE nobody_in_particular")


def test_a_debt_whose_connection_alone_was_lost_is_an_error_and_not_nothing(
    server: Server,
) -> None:
    with server.connect() as admin, closing(Checkpoints(server.conninfo)) as checkpoints:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        admin.execute(ended, ("steelyard telemetry",))
        for _ in range(2):  # the server lives: its debt is not known
            with pytest.raises(ServerError, match=NOT_MADE):
                checkpoints.checkpoint()


@pytest.mark.long
def test_a_server_that_died_owes_nothing() -> None:
    with own_server("18", SETTINGS) as cluster:
        assert isinstance(cluster, Cluster)
        with closing(cluster.checkpointer("postgres")) as checkpoints:
            assert checkpoints.checkpoint() > 0
            cluster.crash()
            for _ in range(2):
                assert checkpoints.checkpoint() == 0
