"""`memstow solvers` and `memstow schema`."""

import json

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli


def test_solvers_are_listed_for_people_and_as_json(cli: Cli) -> None:
    listed = json.loads(cli("solvers", "--json").out)
    assert listed
    shown = cli("solvers")
    assert shown.code == Exit.DONE
    for solver in listed:
        assert solver["name"] in shown.out


@pytest.mark.parametrize("kind", ["problem", "options", "plan"])
def test_schemas_are_json(cli: Cli, kind: str) -> None:
    ran = cli("schema", kind)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert isinstance(json.loads(ran.out), dict)


def test_the_schema_of_the_problem_is_the_default(cli: Cli) -> None:
    assert cli("schema").out == cli("schema", "problem").out
