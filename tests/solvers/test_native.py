"""What the stub says of the native core is what the core has."""

import ast
from pathlib import Path

from memstow.solvers import _native, instance, solver

STUB = ast.parse((Path(solver.__file__).parent / "_native.pyi").read_text())


def classes() -> list[ast.ClassDef]:
    return [node for node in STUB.body if isinstance(node, ast.ClassDef)]


def public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_")}


def test_the_stub_names_all_that_there_is() -> None:
    named = {node.name for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    constants = {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert named | constants == public(_native)


def test_the_stub_names_all_fields_of_each_class() -> None:
    for node in classes():
        bound = getattr(_native, node.name)
        if "Enum" in ast.unparse(node.bases[0]) if node.bases else False:
            members = {
                target.id: ast.literal_eval(one.value)
                for one in node.body
                if isinstance(one, ast.Assign)
                for target in one.targets
                if isinstance(target, ast.Name)
            }
            assert members == {member.name: member.value for member in bound}
        else:
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            assert methods - {"__init__"} == public(bound), node.name


def test_limits_are_the_same_on_both_sides() -> None:
    assert instance.UNBOUNDED == _native.UNBOUNDED
