"""Refuses an upgrade whose databases have a locale that this machine or a build lacks."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

from steelyard._core import read_relation_map
from steelyard.engines.local.owned_files import opened_below, path_of, read_below
from steelyard.engines.postgres.life.catalogue_rows import (
    PG_DATABASE,
    DatabaseLocale,
    database_locales,
)
from steelyard.engines.postgres.upgrade.copies import Programs
from steelyard.model.errors import EngineError

_EVERY_CATEGORY = 0x1FBF
"""LC_ALL_MASK of Linux's locale.h."""
_ALWAYS_THERE = ("", "C", "POSIX")
_LIBC, _ICU = "c", "i"


def locales_of(directory: Path, page_bytes: int, major: int) -> list[DatabaseLocale]:
    """Of every database of a stopped cluster. OSError, ValueError: a file cannot be read."""
    with opened_below(directory, "global/pg_filenode.map") as descriptor:
        files = dict(read_relation_map(path_of(descriptor), major))
    content = read_below(directory, f"global/{files[PG_DATABASE]}")
    return database_locales(content, directory, page_bytes, major)


def require_locales(locales: Sequence[DatabaseLocale], builds: Sequence[Programs]) -> None:
    """EngineError names the databases, and what they need: the servers of both versions open every
    database in its locale."""
    needed: dict[str, list[str]] = {}
    for each in locales:
        for name in dict.fromkeys((each.collate, each.ctype)):
            if not has_locale(name):
                needed.setdefault(name, []).append(each.name)
    if needed:
        listed = [f'"{name}" (database {", ".join(where)})' for name, where in needed.items()]
        raise EngineError(
            f"cannot rehearse the upgrade: this machine lacks locale {'; '.join(listed)}",
            detail="A database is opened in its locale alone, by the old version and by the new.",
            hint="Install it, and repeat: on Debian package locales-all, or `locale-gen` with the "
            "line in /etc/locale.gen; `locale -a` lists what there is.",
        )
    of_icu = [each.name for each in locales if each.provider == _ICU]
    for programs in builds if of_icu else ():
        identity = programs.identity
        if identity.configure and not has_icu(identity.configure, identity.version_number):
            raise EngineError(
                f"cannot rehearse the upgrade: database {', '.join(of_icu)} has a locale of ICU, "
                f"and this build of PostgreSQL {identity.version} was made without ICU",
                detail=f'It is the one in "{identity.bindir}".',
                hint="Name a build with ICU, as Debian's are: --old-bindir DIR, --new-bindir DIR; "
                f"`steelyard engines add debian-{identity.version_number // 10000}` brings one.",
            )


def has_locale(name: str) -> bool:
    """Whether this machine's C library has a locale."""
    if name in _ALWAYS_THERE:
        return True
    library = ctypes.CDLL(None, use_errno=True)
    library.newlocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    library.freelocale.argtypes = [ctypes.c_void_p]
    handle = library.newlocale(_EVERY_CATEGORY, name.encode(), None)
    if handle:
        library.freelocale(handle)
    return bool(handle)


def has_icu(configure: str, version_number: int) -> bool:
    """By the options of configure: asked for before 16, and from then on unless it is refused."""
    if version_number >= 160000:
        return not re.search(r"--without-icu\b|-Dicu=disabled", configure)
    return bool(re.search(r"--with-icu\b|-Dicu=enabled", configure))
