"""Base of everything a record holds: frozen, checked when it is read, unknown keys refused."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from steelyard.model.errors import RecordError
from steelyard.model.secrets.redaction import redacted_json


class Frozen(BaseModel):
    """A value of a record. `to_json` gives only what was set, so that absent stays absent."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def to_json(self) -> dict[str, Any]:
        """As the record's files keep it."""
        return self.model_dump(mode="json", exclude_unset=True)

    def redacted(self) -> Self:
        """The same, with secrets left out of the texts of servers and users that it quotes."""
        whole = self.to_json()
        redacted = redacted_json(whole)
        return self if redacted == whole else type(self).model_validate(redacted)

    @classmethod
    def of_json(cls, value: object, place: str) -> Self:
        """The value of parsed JSON; RecordError names the place and the key that is wrong."""
        try:
            return cls.model_validate(value)
        except ValidationError as reason:
            first = reason.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise RecordError(f'could not read {place}: "{key}": {first["msg"]}') from reason
