"""Chooses which files go to a host with a study, and refuses those that cannot.

A path that is relative leads from the matrix: a script there is sent, a folder of a workload, data
or programs are not. An absolute path is the host's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.model.errors import StudyError
from steelyard.study.study import Study

Files = tuple[tuple[str, str], ...]
"""(path from the matrix, text)."""


def is_file(study: str) -> bool:
    """Whether a study is named by a file, and not built in."""
    return study.endswith(".toml") or "/" in study


def shipped(study: Study, named: str, folder: Path) -> Files:
    """What the host of a study gets: itself where it is `named` by a file, and its scripts.

    `folder`: of the matrix. StudyError: a file is not there, is no text, or stays here.
    """
    for key, place in _kept_here(study, folder):
        raise StudyError(
            f'{named}: "{key}" names "{place}", which is on this machine and is not sent to hosts',
            hint="Name it by an absolute path that every host has.",
        )
    files = {Path(named).name: _text(folder / named, named)} if is_file(named) else {}
    for script in study.workload.scripts:
        path = Path(script)
        if script in study.workload.texts or path.is_absolute() or script.startswith("~"):
            continue
        if "/" not in script and not (folder / path).is_file():
            continue  # one of its workload's own
        if ".." in path.parts:
            raise StudyError(
                f'{named}: script "{script}" cannot be sent: it does not stand below the matrix'
            )
        files[path.as_posix()] = _text(folder / path, named)
    return tuple(sorted(files.items()))


def _kept_here(study: Study, folder: Path) -> Iterator[tuple[str, str]]:
    """(key, relative path) of what a study names and is more than a script."""
    workload = study.workload.name
    by_path = "/" in workload or (folder / workload).is_dir()
    places = [("workload.name", workload)] if by_path else []
    if study.source is not None:
        places.append(("source.place", study.source.place))
        places += [("source.config", study.source.config)] if study.source.config else []
    for arm in study.every_arm:
        places += [(f"{arm.name}.bindir", arm.bindir)] if arm.bindir else []
    for key, place in places:
        if not (Path(place).is_absolute() or place.startswith("~")):
            yield key, place


def _text(file: Path, named: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f'{named}: could not read "{file}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise StudyError(f'{named}: could not read "{file}": it is no UTF-8 text') from error
