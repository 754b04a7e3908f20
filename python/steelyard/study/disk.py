"""Holds the rates that the disk of every arm is held to, as volumes of a cloud are."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from steelyard.study.values import Bytes, StudyModel, unless_none

LEAST_RATE, MOST_RATE = 1 << 16, 1 << 50
MOST_REQUESTS = 1_000_000_000
"""A second; the kernel counts to four times as many, and reads what is larger as something else."""


def _each_second(value: object) -> object:
    """`125MB/s` is 125MB: all rates are per second."""
    return value.strip().removesuffix("/s") if isinstance(value, str) else value


def _within(value: int) -> int:
    if not LEAST_RATE <= value <= MOST_RATE:
        raise ValueError("accepted: 64kB to 1024TB a second")
    return value


Rate = Annotated[Bytes, AfterValidator(_within), BeforeValidator(_each_second)]
Requests = Annotated[int, Field(ge=1, le=MOST_REQUESTS)]


class DiskRates(StudyModel):
    """Requests and bytes a second, at most; what is not named is not held."""

    read_iops: Annotated[Requests | None, BeforeValidator(unless_none)] = None
    write_iops: Annotated[Requests | None, BeforeValidator(unless_none)] = None
    read_rate: Annotated[Rate | None, BeforeValidator(unless_none)] = None
    """Bytes a second."""
    write_rate: Annotated[Rate | None, BeforeValidator(unless_none)] = None

    @model_validator(mode="after")
    def _holds_something(self) -> DiskRates:
        if not self.model_dump(exclude_none=True):
            raise ValueError("say what is held: read_iops, write_iops, read_rate, write_rate")
        return self
