"""The JSON Schemas of documents, generated from the models.

`python -m memstow.planner.model.schema FOLDER` writes a file of each kind."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from memstow.planner.model.front import Front
from memstow.planner.model.graph import Graph
from memstow.planner.model.library import LibraryIndex, LibraryInstance
from memstow.planner.model.loops import Loops
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem, Target
from memstow.planner.model.programs import ProgramPlans, Programs
from memstow.planner.model.symbolic import SymbolicGraph, SymbolicPlan, SymbolicProblem

_MODELS: Final[dict[str, type[object]]] = {
    "problem": Problem,
    "options": Options,
    "plan": Plan,
    "target": Target,
    "graph": Graph,
    "front": Front,
    "loops": Loops,
    "programs": Programs,
    "program-plans": ProgramPlans,
    "symbolic": SymbolicProblem,
    "symbolic-plan": SymbolicPlan,
    "symbolic-graph": SymbolicGraph,
    "library-instance": LibraryInstance,
    "library-index": LibraryIndex,
}
KINDS: Final = tuple(_MODELS)


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document, such as `problem` or `plan`."""
    fields = TypeAdapter(_MODELS[kind]).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **fields}


def schema_text(kind: str) -> str:
    """The schema as `memstow schema` prints it."""
    return json.dumps(schema(kind), indent=2) + "\n"


def main(folder: str) -> None:
    """Write `KIND.schema.json` of each kind of document into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        (Path(folder) / f"{kind}.schema.json").write_text(schema_text(kind), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
