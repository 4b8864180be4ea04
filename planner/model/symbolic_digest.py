"""The identity of a symbolic problem: SHA-256, in lower-case hex, of its canonical form.

The canonical form is made of lines like that of an ordinary problem (planner/model/digest.py):

1. `memstow-symbolic 1`
2. For each symbol, in the order of the ids: `symbol`, id, min, max, step.
3. `aim` and the aim.
4. For each point, in order: `point`, the values in the order of the ids of the symbols, and the weight (1
   unless the aim is `sum`). Where the problem has no points, those that the values of its symbols make.
5. For each buffer whose size is a formula, in the order of the ids: `size`, id, the formula without blanks.
6. The canonical form of the ordinary problem in which each formula is 0.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from memstow.planner.model.digest import canonical
from memstow.planner.model.memory import Memo
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.model.symbolic_points import points_of
from memstow.planner.model.with_sizes import with_sizes

_digests: Final = Memo[SymbolicProblem, str]()


def digest_symbolic(problem: SymbolicProblem) -> str:
    """SHA-256 of the canonical form, in hex; the problem has to be valid."""
    cached = _digests.get(problem)
    if cached is None:
        cached = sha256(canonical_symbolic(problem)).hexdigest()
        _digests.note(problem, cached)
    return cached


def canonical_symbolic(problem: SymbolicProblem) -> bytes:
    """The canonical form itself, for those who compare or debug."""
    numbers = [0 if isinstance(buffer.size, str) else buffer.size for buffer in problem.buffers]
    head = "".join(f"{line}\n" for line in _lines(problem))
    return head.encode("utf-8", "surrogatepass") + canonical(with_sizes(problem, numbers))


def _lines(problem: SymbolicProblem) -> Iterator[str]:
    yield "memstow-symbolic 1"
    symbols = sorted(problem.symbols, key=lambda it: it.id)
    for symbol in symbols:
        yield f"symbol {_text(symbol.id)} {symbol.min} {symbol.max} {symbol.step}"
    yield f"aim {problem.aim}"
    for point in points_of(problem):
        values = " ".join(str(point.at[symbol.id]) for symbol in symbols)
        yield f"point {values} {point.weight if problem.aim == 'sum' else 1}"
    formulas = {buffer.id: buffer.size for buffer in problem.buffers if isinstance(buffer.size, str)}
    written = {text: _text("".join(text.split())) for text in set(formulas.values())}
    for name in sorted(formulas):
        yield f"size {_text(name)} {written[formulas[name]]}"


def _text(text: str) -> str:
    if text.isascii():
        return f"{len(text)}:{text}"
    return f"{len(text.encode('utf-8', 'surrogatepass'))}:{text}"
