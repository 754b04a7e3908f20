"""Options of a workload: their declarations, their chosen values, and the mix that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from steelyard.model.errors import UsageError

OptionValue = StrictBool | StrictInt | str
_SWITCH = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}


class Option(BaseModel):
    """A choice with a name: one of several words, a number, or a switch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    default: OptionValue
    values: tuple[str, ...] = ()
    """The words that are possible; none: the default is a number or a switch."""
    low: int = 0
    high: int = 2**31 - 1
    loads: bool = False
    """Whether it decides what is loaded, and not only what is driven."""

    @property
    def accepted(self) -> str:
        """What it may be, in words."""
        if self.values:
            return ", ".join(self.values)
        return "true, false" if isinstance(self.default, bool) else f"{self.low} to {self.high}"

    def variables(self, name: str, chosen: OptionValue) -> dict[str, str | int]:
        """What scripts and SQL files see of it: a switch is 1 or 0, and so is each of its words.

        A script can only ask whether a number is 0.
        """
        flags = {f"{name}_{word}".replace("-", "_"): int(chosen == word) for word in self.values}
        return {name: int(chosen) if isinstance(chosen, bool) else chosen, **flags}

    def read(self, value: object) -> OptionValue | None:
        """The value that is meant; None where it is none of those possible."""
        if self.values:
            alike = [word for word in self.values if word.casefold() == str(value).casefold()]
            exact = str(value) in alike
            return str(value) if exact else alike[0] if len(alike) == 1 else None
        if isinstance(self.default, bool):
            return _SWITCH.get(str(value).lower())
        try:
            number = int(str(value))
        except ValueError:
            return None
        return number if self.low <= number <= self.high else None


class ScriptMix(BaseModel):
    """Scripts and their weights, for the options that it names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: dict[str, OptionValue] = {}
    scripts: Annotated[dict[str, Annotated[int, Field(ge=1)]], Field(min_length=1)]


def choose(
    workload: str,
    options: Mapping[str, Option],
    requested: Mapping[str, object],
    scale_names: Sequence[str] = ("scale",),
) -> dict[str, OptionValue]:
    """The value of every option; UsageError names one that is not there, or not like that.

    `scale_names` are what the scale is called: it is no option, but its advice names it.
    """
    chosen: dict[str, OptionValue] = {name: option.default for name, option in options.items()}
    for name, value in requested.items():
        if name not in options:
            near = get_close_matches(name, options, n=1)
            raise UsageError(
                f'workload "{workload}" has no option "{name}"',
                hint=(f'Did you mean "{near[0]}"? ' if near else "")
                + (f"Its options: {', '.join(options)}. " if options else "It has none. ")
                + f"Its scale is no option: {' or '.join(scale_names)} (a study: workload.scale).",
            )
        read = options[name].read(value)
        if read is None:
            raise UsageError(
                f'invalid value for option "{name}" of workload "{workload}": "{value}"',
                hint=f"Accepted: {options[name].accepted}.",
            )
        chosen[name] = read
    return chosen
