"""Holds the rates that the disk of every arm is held to, as volumes of a cloud are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from steelyard.study.values import Bytes, StudyModel


class DiskRates(StudyModel):
    """Requests and bytes a second, at most; what is not named is not held."""

    read_iops: Annotated[int, Field(ge=1)] | None = None
    write_iops: Annotated[int, Field(ge=1)] | None = None
    read_rate: Annotated[Bytes, Field(ge=1 << 16)] | None = None
    """Bytes a second."""
    write_rate: Annotated[Bytes, Field(ge=1 << 16)] | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> DiskRates:
        if not self.model_dump(exclude_none=True):
            raise ValueError("say what is held: read_iops, write_iops, read_rate, write_rate")
        return self
