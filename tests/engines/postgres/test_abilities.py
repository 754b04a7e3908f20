"""What a build was made without is told, with how to get it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.engines.account import Account, choose_account
from steelyard.engines.postgres import abilities
from steelyard.engines.postgres.abilities import missing
from steelyard.engines.postgres.builds import find
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.identity import Identity

IDENTITY = Identity(
    kind="postgres", version="18.4", version_number=180004, builder="gcc", configure="",
    cflags="", origin="bindir", bindir="/nowhere", assertions=False,
)  # fmt: skip


def test_a_build_has_jit_where_its_module_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abilities, "_others", lambda account, need: [])
    account = Account("", 0, 0)
    build = Build(tmp_path / "bin", "bindir")
    lacking = missing(build, IDENTITY, account, "jit")
    assert lacking is not None
    assert lacking.why == "PostgreSQL 18.4 (bindir) was built without LLVM (--with-llvm)"
    assert "postgresql-18-jit" in lacking.how
    module = tmp_path / "lib" / "postgresql" / "llvmjit.so"
    module.parent.mkdir(parents=True)
    module.touch()
    assert missing(build, IDENTITY, account, "jit") is None


def test_a_build_for_jit_whose_module_is_not_installed_says_so_and_is_not_advised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured = replace(IDENTITY, configure="--with-llvm --with-lz4")
    with_module = tmp_path / "whole" / "bin"
    (module := with_module.parent / "lib" / "llvmjit.so").parent.mkdir(parents=True)
    module.touch()
    engines = [
        SimpleNamespace(name=name, build=Build(place, "bindir"), identity=configured)
        for name, place in (("apart", tmp_path / "apart" / "bin"), ("whole", with_module))
    ]
    monkeypatch.setattr(find, "discovered", lambda: engines)
    lacking = missing(engines[0].build, configured, Account("", 0, 0), "jit")
    assert lacking is not None
    assert "has no llvmjit.so" in lacking.why
    assert lacking.how.endswith("Found here with it: --set version=whole.")


@pytest.mark.postgres
@pytest.mark.parametrize("need", ["jit", "lz4", "io_uring", "tls"])
def test_the_bundled_build_says_what_it_lacks(need: str) -> None:
    lacking = find_postgres("bundle-18").missing(need)
    assert lacking is not None
    assert "(bundle) was built without" in lacking.why


@pytest.mark.postgres
def test_a_build_that_debian_made_has_what_it_was_made_with() -> None:
    place = Path("/usr/lib/postgresql/15/bin")
    if not (place / "postgres").is_file():
        pytest.skip("Debian's PostgreSQL 15 is not installed")
    engine: Postgres = find_postgres("15", place, choose_account().name or None)
    assert engine.missing("tls") is None
    assert engine.missing("lz4") is None
    assert engine.missing("io_uring") is not None
