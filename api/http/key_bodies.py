"""The bodies of requests about keys."""

from typing import Annotated, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from memstow.api.operations.batch import checked_name
from memstow.api.operations.body import LONGEST_NAME
from memstow.api.operations.body_parts import json_value, moment
from memstow.api.operations.request_types import Limits
from memstow.api.store.database import now
from memstow.api.store.keys import KeyChanges, Role
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.printable import printable
from memstow.planner.reading.sections import missing_field, of_one_value, unknown_field

_Body = TypeVar("_Body", bound=BaseModel)
_Limit = Annotated[int | None, Field(ge=0, le=1 << 31 - 1)]


class ChangedKey(BaseModel):
    """What can be set of a key; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = None
    # In JSON a role is a string.
    role: Annotated[Role | None, Field(strict=False)] = None
    expires: str | None = Field(None, max_length=40)
    max_queued: _Limit = None
    max_running: _Limit = None
    max_stored_bytes: Annotated[int | None, Field(ge=0, le=1 << 50)] = None
    max_priority: Annotated[int | None, Field(ge=0, le=100)] = None

    def changes(self) -> KeyChanges:
        """The values that were given."""
        given = self.model_dump(include=self.model_fields_set - {"reads"})
        if given.get("expires") is not None:
            given["expires"] = moment(given["expires"], "$.expires", now())
        for name in ("name", "role"):
            if name in given and given[name] is None:
                raise InputError.single("wrong_type", f"$.{name}", "null is no value for this")
        if "name" in given:
            given["name"] = printable(checked_name(given["name"], "$.name"), LONGEST_NAME)
        return cast(KeyChanges, given)


class NewKey(ChangedKey):
    """A key that is to be created."""

    name: str
    reads: str | None = Field(None, max_length=32)


class Rotation(BaseModel):
    """How long the secret before works."""

    model_config = ConfigDict(extra="forbid", strict=True)

    overlap: str = Field("0s", max_length=20)


def read_key_body(body: bytes, limits: Limits, kind: type[_Body]) -> _Body:
    """The body of a request; InputError with everything that is wrong."""
    try:
        return kind.model_validate(json_value(body or b"{}", limits))
    except ValidationError as error:
        raise InputError(_issue(it, kind) for it in error.errors(include_url=False)) from None


def _issue(error: ErrorDetails, kind: type[BaseModel]) -> Issue:
    path = ".".join(["$", *map(str, error["loc"])])
    name = str(error["loc"][-1]) if error["loc"] else ""
    match error["type"]:
        case "missing":
            return Issue("missing_field", path, missing_field(name))
        case "extra_forbidden":
            return Issue("unknown_field", path, unknown_field(name, kind.model_fields))
    return Issue("bad_value", path, of_one_value(error))
