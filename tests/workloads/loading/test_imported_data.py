"""A copy of external data is made with all that is known of its server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from own_cache import own_cache
from steelyard.engines.account import Account, choose_account
from steelyard.engines.engine import Slot
from steelyard.engines.intake import ImportedCluster, Intake, Report, SettingsPlace
from steelyard.model.errors import EngineError
from steelyard.study.study import Source
from steelyard.workloads.loading.imported_data import import_template


@pytest.fixture(autouse=True)
def cache() -> Iterator[Path]:
    with own_cache() as root:
        yield root


@dataclass
class Recorder:
    """An engine that takes nothing in, and says what it was to take in."""

    account: Account = field(default_factory=choose_account)
    intakes: list[Intake] = field(default_factory=list)
    identity: Any = field(
        default_factory=lambda: SimpleNamespace(
            kind="postgres", version="18.4", version_number=180004, builder="x", configure=""
        )
    )

    def stopped_identifier(self, directory: Path) -> None:
        """No template is here."""

    def take_in(self, intake: Intake, slot: Slot, report: Report) -> ImportedCluster:
        self.intakes.append(intake)
        raise EngineError("nothing is taken in")


@pytest.mark.parametrize(
    ("config", "reported"), [(None, False), ("/etc/theirs.conf", False), ("/etc/theirs.conf", True)]
)
def test_where_the_settings_are_goes_along(
    tmp_path: Path, config: str | None, reported: bool
) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text("SELECT 1;\n")
    source = Source(place=str(dump), database="shop", kind="dump", config=config, reported=reported)
    engine = Recorder()
    with pytest.raises(EngineError, match="nothing is taken in"):
        import_template(cast(Any, engine), "postgres", source, lambda _: None, copies=1, number=0)
    [intake] = engine.intakes
    file = None if config is None else Path(config)
    assert intake.settings == SettingsPlace(dump, "dump", file, reported=reported)
    assert intake.database == "shop"
    assert dump.is_file()
