"""Reading the process tree from /proc."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steelyard.engines.local.processes import sample, tree
from steelyard.engines.postgres.process_tree import CLIENT, UNKNOWN, kind_of_title


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("postgres: checkpointer ", "checkpointer"),
        ("postgres: background writer", "background writer"),
        ("postgres: io worker 2", "io worker"),
        ("postgres: autovacuum worker steelyard", "autovacuum worker"),
        ("postgres: parallel worker for PID 123", "parallel worker"),
        ("postgres: my cluster: walwriter ", "background worker"),
        ("postgres: main: walwriter ", "walwriter"),
        ("postgres: logical replication launcher", "logical replication launcher"),
        ("postgres: walsender rep [local] streaming 0/3000060", "walsender"),
        ("postgres: postgres steelyard [local] idle", CLIENT),
        ("postgres: main: app steelyard 127.0.0.1(53100) UPDATE", CLIENT),
        ("postgres: app db ::1(53100) idle in transaction", CLIENT),
        ("postgres: pg_cron launcher", "background worker"),
        ("/usr/lib/postgresql/18/bin/postgres -D /data -c port=5432", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_process_is_known_by_its_title(title: str, kind: str) -> None:
    assert kind_of_title(title) == kind


def test_the_tree_holds_children_and_their_children() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    assert parent.stdin is not None
    while len(members := tree(parent.pid)) < 2:
        assert parent.poll() is None
    parent.stdin.close()
    parent.wait()
    assert members[0].pid == parent.pid
    assert members[0].parent == os.getpid()
    assert members[1].parent == parent.pid


def test_a_process_that_has_gone_has_no_sample_and_no_tree() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert sample(gone.pid) is None
    assert tree(gone.pid) == []
