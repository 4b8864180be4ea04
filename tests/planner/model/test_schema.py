"""The committed schemas are those of the models."""

import pytest

from memstow.planner.model.schema import KINDS, file_of, schema, schema_text


@pytest.mark.parametrize("kind", KINDS)
def test_the_committed_schema_is_current(kind: str) -> None:
    hint = "the models have changed: run `python -m memstow.planner.model.schema` and commit docs/schema"
    assert file_of(kind).read_text(encoding="utf-8") == schema_text(kind), hint


def test_unknown_fields_are_refused_by_the_schema_too() -> None:
    made = schema("problem")
    assert made["additionalProperties"] is False
    assert all(one["additionalProperties"] is False for one in made["$defs"].values())
