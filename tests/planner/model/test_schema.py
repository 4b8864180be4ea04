"""The JSON Schemas of documents are valid, refuse unknown fields, and are what `memstow schema` prints."""

import json
from pathlib import Path

import pytest

from memstow.planner.formats.programs_format import FORMAT, read_programs
from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.schema import KINDS, main, schema
from memstow.planner.programs import joint_problem
from tests.api.cli.conftest import Cli, cli

__all__ = ["cli"]
PLAN = Plan(status=Status.OPTIMAL, placements=[Placement(buffer="one/x", pool="memory", offset=0)])


def test_each_schema_that_is_written_is_valid_and_what_the_command_prints(tmp_path: Path, cli: Cli) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    main(str(tmp_path / "schema"))
    assert {file.name for file in (tmp_path / "schema").iterdir()} == {
        f"{kind}.schema.json" for kind in KINDS
    }
    for kind in KINDS:
        text = (tmp_path / "schema" / f"{kind}.schema.json").read_text(encoding="utf-8")
        validator.check_schema(json.loads(text))
        assert cli("schema", kind).out == text


def test_programs_and_their_plans_are_as_their_schemas_say() -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    pieces = [{"id": "x", "size": 8, "lifetime": [0, 1]}]
    problem = {"version": 1, "buffers": pieces}
    document = {
        "version": 1,
        "programs": [{"id": "one", "problem": problem}],
        "kept": [{"buffers": [["one", "x"]]}],
    }
    assert FORMAT.write_plan is not None
    plan = FORMAT.write_plan(joint_problem(read_programs(json.dumps(document).encode())), PLAN)
    validator(schema("programs")).validate(document)
    validator(schema("program-plans")).validate(json.loads(plan))
    assert not validator(schema("programs")).is_valid({**document, "other": 1})


def test_unknown_fields_are_refused_by_the_schema_too() -> None:
    made = schema("problem")
    assert made["additionalProperties"] is False
    assert all(one["additionalProperties"] is False for one in made["$defs"].values())
