"""A symbolic problem as an ordinary one: at a point, or with each size at its largest."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.memory import Memo
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import Symbol, SymbolicProblem
from memstow.planner.model.symbolic_points import points_of as points_of
from memstow.planner.model.symbolic_points import takes
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.shapes.extremes import Effort, Extremes, How, extremes
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.sizes import Sizes, sizes_of


def problem_at(problem: SymbolicProblem, at: Mapping[str, int]) -> Problem:
    """The problem where each symbol has this value; InputError unless each has one, within its range."""
    return with_sizes(problem, sizes_at(problem, at))


def sizes_at(problem: SymbolicProblem, at: Mapping[str, int]) -> tuple[int, ...]:
    """The size of each buffer where each symbol has this value."""
    require_values(problem, at)
    try:
        return sizes_of(problem).at(at)
    except FormulaValueError as error:
        # Only of a problem that was not checked.
        raise InputError.single(error.code, "$.buffers", f"{error} at {values_text(at)}") from error


def largest_problem(problem: SymbolicProblem) -> tuple[Problem, dict[str, How]]:
    """The problem with each size at its largest, and by buffer how that is known; it has to be valid."""
    sizes = sizes_of(problem)
    found = _extremes_of(problem)
    large = sizes.put([max(0, it.high) for it in found])
    how: dict[str, How] = {
        buffer.id: "monotone" if index is None else found[index].how
        for buffer, index in zip(problem.buffers, sizes.formulas, strict=True)
    }
    return with_sizes(problem, large), how


_known: Final = Memo[SymbolicProblem, list[Extremes]]()


def _extremes_of(problem: SymbolicProblem) -> list[Extremes]:
    """Those of each distinct formula."""
    found = _known.get(problem)
    if found is None:
        effort = Effort()
        symbols = {symbol.id: symbol for symbol in problem.symbols}
        sizes = sizes_of(problem)
        found = [_extremes(sizes, index, symbols, effort) for index in range(len(sizes.texts))]
        _known.note(problem, found)
    return found


def _extremes(sizes: Sizes, index: int, symbols: Mapping[str, Symbol], effort: Effort) -> Extremes:
    text = sizes.texts[index]
    simple = sizes.quick.monotone(text)
    if simple is not None:
        return Extremes(*simple, "monotone")
    return extremes(sizes.node(index), symbols, effort, partial(sizes.quick.of_all_values, text))


def require_values(problem: SymbolicProblem, at: Mapping[str, int]) -> None:
    """Raise InputError unless there is a value for every symbol, one that it takes."""
    issues = [Issue(code, f"$.{name}", message) for code, name, message in value_issues(problem, at)]
    if issues:
        raise InputError(issues)


def value_issues(problem: SymbolicProblem, at: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """What is wrong with the values of symbols: a code, the symbol, a message."""
    symbols = {symbol.id: symbol for symbol in problem.symbols}
    names = ", ".join(sorted(symbols))
    issues = [
        ("unknown_symbol", name, f"{name!r} is no symbol; there are: {names}")
        for name in at
        if name not in symbols
    ]
    for name, symbol in symbols.items():
        if name not in at:
            issues.append(("missing_symbol", name, f"{name!r} has no value; give one for each of: {names}"))
        elif not takes(symbol, at[name]):
            steps = f" in steps of {symbol.step:,}" if symbol.step > 1 else ""
            message = (
                f"{at[name]:,} is no value of {name!r}, which goes from {symbol.min:,} to {symbol.max:,}"
            )
            issues.append(("value_out_of_range", name, f"{message}{steps}"))
    return issues


def values_text(at: Mapping[str, int]) -> str:
    """Values for a message: `s=128, b=4`."""
    return ", ".join(f"{name}={value}" for name, value in at.items())
