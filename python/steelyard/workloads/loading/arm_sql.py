"""Makes the data of an arm of the loaded data: a template with an arm's own SQL executed in it."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.engines.cache import free_bytes, open_cache, require_room, tree_bytes
from steelyard.engines.capabilities.life import Clonable
from steelyard.engines.loading import TemplateEngine, database_of, serving
from steelyard.model.errors import EngineError
from steelyard.workloads.loading.disk_space import Report
from steelyard.workloads.loading.template import (
    describe,
    description,
    making,
    sole_maker,
    trusted,
)


def template_after_sql(
    engine: TemplateEngine,
    template: Path,
    statements: Sequence[str],
    arm: str,
    report: Report,
    *,
    copies: int,
) -> Path:
    """The data directory of a copy of a template in which these statements were executed, each a
    transaction of its own; made where missing.

    ServerError quotes the statement that the server refused; EngineError: no room for it and
    `copies` clones.
    """
    cache = open_cache()
    key = key_after_sql(template, statements, engine.catalogue_edition())
    home = cache.templates / key
    with sole_maker(cache, key, report):
        if not trusted(engine, home, report):
            _require_space(template, copies)
            shutil.rmtree(home, ignore_errors=True)
            started = time.monotonic()
            with making(engine, cache, home, report) as (slot, move):
                report(f'copy the data for arm "{arm}"')
                original = engine.open(template)
                if not isinstance(original, Clonable):
                    raise EngineError(f"engine cannot clone its databases: {engine.identity.kind}")
                copy = original.clone(slot.path / "data")
                report(f'execute the sql of arm "{arm}"')
                with (
                    serving(copy, slot, engine.load_settings, report),
                    database_of(copy).checker() as checker,
                ):
                    checker.execute(statements, f'sql of arm "{arm}"')
                data, seconds = move(), time.monotonic() - started
                facts = description(template)
                assert facts is not None  # what is trusted is described
                described = replace(
                    facts,
                    bytes=tree_bytes(data),
                    system_identifier=engine.stopped_identifier(data / "data"),
                    made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    seconds=round(facts.seconds + seconds, 3),
                    sql=list(statements),
                )
                describe(data, described)
    return home / "data"


def key_after_sql(template: Path, statements: Sequence[str], edition: Sequence[int] = ()) -> str:
    """The name of an altered template: that of the loaded one, with a hash of the statements and of
    how their server stores values and gathers statistics."""
    decisive = json.dumps([*statements, *edition])
    digest = hashlib.sha256(decisive.encode()).hexdigest()[:12]
    return f"{template.parent.name}-sql-{digest}"


def _require_space(template: Path, copies: int) -> None:
    """Rewriting a table holds it twice for a moment."""
    each, root = tree_bytes(template), open_cache().root
    require_room(
        "could not copy the data for an arm",
        each * (2 + copies),
        free_bytes(root),
        detail=f'Needed under "{root}" for its own copy and {copies} clones.',
        hint="Free some room, or choose a smaller scale.",
    )
