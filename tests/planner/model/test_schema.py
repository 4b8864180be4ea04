"""The JSON Schemas of documents are valid, refuse unknown fields, and are what `memstow schema` prints."""

import json
from pathlib import Path

import pytest

from memstow.planner.model.schema import KINDS, main, schema
from tests.api.cli.conftest import Cli, cli

__all__ = ["cli"]


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


def test_unknown_fields_are_refused_by_the_schema_too() -> None:
    made = schema("problem")
    assert made["additionalProperties"] is False
    assert all(one["additionalProperties"] is False for one in made["$defs"].values())
