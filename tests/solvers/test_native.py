"""Stubs of native modules say what the modules have: nanobind's own stub generator is asked.

They are kept by hand because that generator knows less: it calls what C++ takes as a plain Python object
`object`, blocks of integers NumPy's arrays, which we do not need, and leaves out the None of a null pointer.
All else has to be the same: names, parameters, which of them have names, types.
"""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from nanobind.stubgen import StubGen

from memstow.solvers import _native, instance

MODULES = ("solvers._native", "planner.judge._judge", "planner.plain._columns", "planner.model._instances")
# Where the generator knows less.
VAGUE = ("object", "NDArray", "memoryview", "Any")

Signature = tuple[str, ...]


def written(module: ModuleType) -> ast.Module:
    """The stub in the checkout."""
    name = module.__name__.removeprefix("memstow.").replace(".", "/")
    return ast.parse((Path(__file__).parents[2] / f"{name}.pyi").read_text())


def generated(module: ModuleType) -> ast.Module:
    """The stub that nanobind makes of the module."""
    generator = StubGen(module, quiet=True)
    generator.put(module)
    text: str = generator.get()
    return ast.parse(text)


def members(stub: ast.Module) -> dict[str, ast.AST]:
    """Definitions by their qualified name; a setter has a name of its own."""
    return dict(_members(stub.body, ""))


def _members(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _members(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(it) for it in node.decorator_list]
            if not any(it.endswith(".setter") for it in decorators):
                yield prefix + node.name, node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id, node
        elif isinstance(node, ast.Assign) and prefix and isinstance(node.targets[0], ast.Name):
            yield prefix + node.targets[0].id, node


def aliases(stub: ast.Module) -> dict[str, str]:
    """Names of types that a stub gives to others."""
    return {
        node.targets[0].id: ast.unparse(node.value)
        for node in stub.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


@pytest.mark.parametrize("name", MODULES)
def test_the_stub_is_what_the_module_has(name: str) -> None:
    module = importlib.import_module(f"memstow.{name}")
    stub = written(module)
    mine, made = members(stub), members(generated(module))
    assert set(mine) == set(made)
    other_names = aliases(stub)
    for place, node in made.items():
        here = mine[place]
        if isinstance(node, ast.FunctionDef) and isinstance(here, ast.FunctionDef):
            assert parameters(here, node) == parameters(node, node), place
            for one, theirs in zip(types(here), types(node), strict=True):
                assert agree(one, theirs, other_names), f"{place}: {one} is {theirs}"
        elif isinstance(node, ast.Assign) and isinstance(here, ast.Assign):
            assert ast.unparse(here.value) == ast.unparse(node.value), place


def parameters(node: ast.FunctionDef, made: ast.FunctionDef) -> Signature:
    """Names of parameters, and how they are passed; those that have no name in C++ are only counted."""
    if made.args.posonlyargs:
        return (str(len(node.args.posonlyargs) + len(node.args.args)),)
    positional, named = node.args.args, node.args.kwonlyargs
    return (*(it.arg for it in positional), "*", *(it.arg for it in named), str(len(node.args.defaults)))


def types(node: ast.FunctionDef) -> list[str]:
    """The types of all parameters but `self`, and of the result."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    noted = [it.annotation for it in every if it.arg != "self"]
    return ["" if it is None else ast.unparse(it) for it in (*noted, node.returns)]


def agree(mine: str, made: str, other_names: dict[str, str]) -> bool:
    """Whether two types are the same, as far as the generator knows them."""
    if any(word in made for word in VAGUE):
        return True
    mine = other_names.get(mine, mine)
    for name, meaning in other_names.items():
        mine = mine.replace(f"[{name},", f"[{meaning},")
    # What is in a plain Python container, what a callable takes and returns, is written by hand.
    if made in ("Callable", "dict", "list", "tuple"):
        return mine == made or mine.startswith(f"{made}[")
    # A callback gets a list and may say so; a pointer may be null.
    mine, made = (it.replace("list[", "Sequence[") for it in (mine, made))
    return mine in (made, f"{made} | None")


def test_limits_are_the_same_on_both_sides() -> None:
    assert instance.UNBOUNDED == _native.UNBOUNDED
