"""Names what a study declares to differ between two of its arms."""

from __future__ import annotations

from steelyard.study.study import Arm, Study


def declared_names(study: Study, control: Arm, arm: Arm) -> set[str]:
    """What a study says differs between two of its arms: settings by name, and "version".

    `"data_checksums"` when one verifies pages and the other does not; `"version"` when versions
    or builds are asked to differ.
    """
    ours, theirs = study.settings_of(control), study.settings_of(arm)
    names = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    if control.checksums != arm.checksums:
        names.add("data_checksums")
    if (control.version, control.bindir) != (arm.version, arm.bindir):
        names.add("version")
    return names
