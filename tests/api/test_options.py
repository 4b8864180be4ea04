"""The table of options says what the classes and formats of the planner say."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from memstow.api import options
from memstow.api.http.requests import parameter
from memstow.api.operations.encoding import OPTION_NAMES
from memstow.planner import exports, formats, loops
from memstow.planner.model import front, graph, symbolic
from memstow.planner.model.options import Options
from tests import option_tables

LIMITS = ("minimum", "maximum", "exclusiveMaximum")


def _limits(schema: dict[str, Any]) -> dict[str, float]:
    kinds: Iterable[dict[str, Any]] = schema.get("anyOf", [schema])
    result = {name: kind[name] for kind in kinds for name in LIMITS if name in kind}
    if "exclusiveMaximum" in result:
        result["maximum"] = result.pop("exclusiveMaximum") - 1
    return result


@pytest.mark.parametrize(
    ("model", "table"), [(Options, options.OF_RUN), (front.FrontOptions, options.FRONT)], ids=["run", "front"]
)
def test_numbers_have_the_limits_and_defaults_of_the_planner(
    model: type, table: tuple[options.Option, ...]
) -> None:
    fields = TypeAdapter(model).json_schema()["properties"]
    assert {option.name for option in table} == fields.keys() - {"hint"}
    for option in table:
        assert _limits(parameter(option)["schema"]) == _limits(fields[option.name]), option.name
        if option.default is not None:
            assert option.default == fields[option.name]["default"], option.name


def test_queries_have_the_options_of_a_run() -> None:
    assert {option.name for option in options.OF_RUN} == set(OPTION_NAMES)


def test_words_are_those_of_the_planner() -> None:
    assert options.ORDERS == graph.ORDERS
    assert set(options.SHAPES_ALONE.kind.values) == set(symbolic.SHAPES)  # type: ignore[union-attr]
    assert options.MOST_ORDERS == symbolic.MOST_ORDERS
    assert options.MOST_POINTS == front.MOST_POINTS
    assert formats.names() == options.READABLE
    assert formats.written_plan_names() == (*options.PLANS, options.STEP_TABLE, options.STALLOC)
    assert exports.names() == options.EXPORTS
    assert loops.names() == options.LOOPS


@pytest.mark.parametrize("page", [option_tables.CLI, option_tables.SERVICE], ids=["cli", "service"])
def test_the_lists_of_the_pages_are_current(page: Path) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == option_tables.with_lists(page), "differs: python -m tests.option_tables writes it anew"


def test_a_text_names_other_options_as_the_reader_spells_them() -> None:
    assert "--deterministic" in options.in_terminal(options.WORK_LIMIT)
    assert "`deterministic`" in options.in_query(options.WORK_LIMIT)
    assert options.in_terminal(options.TIME_LIMIT).endswith("as 50ms, 2m (default: 10)")
    assert options.in_query(options.TIME_LIMIT) == "Time limit for the whole call, in seconds; default: 10."
