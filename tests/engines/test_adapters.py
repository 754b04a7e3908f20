"""An engine of another package is found by its entry point, and refused where it is not whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.engines.adapters import GROUP, Adapter, adapter, remove_servers
from steelyard.engines.capabilities.life import Clonable
from steelyard.engines.engine import Restartable
from steelyard.engines.loading import HoldsWorkload, TemplateEngine, WorkloadDatabase
from steelyard.model.errors import UsageError

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "own-engine.md"
FUNCTIONS = sorted(name for name in vars(Adapter) if not name.startswith("_"))


def install(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with an engine "mine", whose adapter is a module of this source."""
    (folder / "my_engine.py").write_text(source)
    (info := folder / "my_engine-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nmine = my_engine\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(__import__("sys").modules, "my_engine", raising=False)


def functions(*names: str) -> str:
    return "".join(f"def {name}(*parts, **more): return []\n" for name in names)


def test_an_engine_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, functions(*FUNCTIONS), monkeypatch)
    assert adapter("mine").find_arms([], None, contrib=False) == []


@pytest.mark.parametrize("lacking", FUNCTIONS)
def test_an_adapter_that_lacks_a_function_is_refused_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    rest = [name for name in FUNCTIONS if name != lacking]
    install(tmp_path, functions(*rest), monkeypatch)
    with pytest.raises(UsageError) as refused:
        adapter("mine")
    assert refused.value.primary.endswith(f" lacks {lacking}")
    assert "my_engine" in (refused.value.detail or "")
    assert refused.value.hint


@pytest.mark.parametrize(
    "source", ["import nothing_of_this_name", "from json import no_such_thing"]
)
def test_an_adapter_that_cannot_be_imported_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    install(tmp_path, source, monkeypatch)
    with pytest.raises(UsageError, match=r'could not load engine "mine": .*no'):
        adapter("mine")


def test_servers_are_removed_by_an_adapter_that_lacks_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "calls = []\ndef remove_servers(*parts): calls.append(parts)\n", monkeypatch)
    for name in ("postgres", "mysql"):
        monkeypatch.setattr(adapter(name), "remove_servers", lambda directory, account: [])
    remove_servers(tmp_path, account=None)  # type: ignore[arg-type]
    import my_engine  # type: ignore[import-not-found]

    assert my_engine.calls == [(tmp_path, None)]


def test_the_engine_of_the_tutorial_has_all_that_an_engine_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = re.search(
        r"cat > toy/toy\.py <<'END'\n(.*?)^END$", PAGE.read_text("utf-8"), re.S | re.M
    )
    assert written is not None
    install(tmp_path, written[1], monkeypatch)
    toy = adapter("mine")
    engine = toy.Toy(account=None)  # type: ignore[attr-defined]
    server = engine.open(tmp_path)
    assert isinstance(engine, TemplateEngine)
    for protocol in (Restartable, Clonable, HoldsWorkload):
        assert isinstance(server, protocol)
    database = server.workload_database()
    parts = [name for name in vars(WorkloadDatabase) if not name.startswith("_")]
    assert not [name for name in parts if not hasattr(database, name)]
