"""A small referee of proofs about pseudo-Boolean constraints: sums, divisions and unit propagation alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Constraint:
    """Coefficients above 0 by literal, negative where negated, and what they come to at least."""

    terms: dict[int, int]
    degree: int

    def plus(self, other: "Constraint") -> "Constraint":
        """The sum; a literal and its negation are 1."""
        terms, degree = dict(self.terms), self.degree + other.degree
        for literal, weight in other.terms.items():
            both = min(weight, terms.get(-literal, 0))
            degree -= both
            for one, change in ((-literal, -both), (literal, weight - both)):
                terms[one] = terms.get(one, 0) + change
        return Constraint({one: weight for one, weight in terms.items() if weight}, degree)

    def times(self, factor: int) -> "Constraint":
        """The multiple."""
        return Constraint({one: weight * factor for one, weight in self.terms.items()}, self.degree * factor)

    def over(self, divisor: int) -> "Constraint":
        """The quotient, rounded up."""
        terms = {one: -(-weight // divisor) for one, weight in self.terms.items()}
        return Constraint(terms, -(-self.degree // divisor))


def _literal(word: str) -> int:
    return -int(word[2:]) if word.startswith("~") else int(word[1:])


def parse_constraint(text: str) -> Constraint:
    """A constraint as files have it."""
    left, right = text.rstrip("; ").split(">=")
    words, degree, terms = left.split(), int(right), Constraint({}, 0)
    for weight, word in zip(map(int, words[::2]), words[1::2], strict=True):
        literal = _literal(word)
        if weight < 0:
            literal, weight, degree = -literal, -weight, degree - weight
        terms = terms.plus(Constraint({literal: weight}, 0))
    return Constraint(terms.terms, terms.degree + degree)


def parse_problem(text: str) -> list[Constraint]:
    """The constraints of a problem."""
    head, *lines = text.splitlines()
    constraints = [parse_constraint(line) for line in lines if not line.startswith("*")]
    assert head.split()[-1] == str(len(constraints))
    return constraints


def has_solution(constraints: list[Constraint]) -> bool:
    """Whether some values satisfy all: each is tried."""
    variables = sorted({abs(one) for constraint in constraints for one in constraint.terms})
    for values in product((False, True), repeat=len(variables)):
        true = {name if value else -name for name, value in zip(variables, values, strict=True)}
        if all(
            sum(weight for one, weight in each.terms.items() if one in true) >= each.degree
            for each in constraints
        ):
            return True
    return False


def _contradicts(constraints: list[Constraint]) -> bool:
    """Whether unit propagation finds that they contradict each other."""
    false, changed = set[int](), True
    while changed:
        changed = False
        for each in constraints:
            left = {one: weight for one, weight in each.terms.items() if one not in false}
            slack = sum(left.values()) - each.degree
            if slack < 0:
                return True
            units = {-one for one, weight in left.items() if weight > slack} - false
            false |= units
            changed = changed or bool(units)
    return False


def _sum(words: list[str], known: list[Constraint]) -> Constraint:
    stack = list[Constraint | int]()

    def constraint() -> Constraint:
        top = stack.pop()
        return known[top - 1] if isinstance(top, int) else top

    for word in words:
        if word == "+":
            stack.append(constraint().plus(constraint()))
        elif word in ("*", "d"):
            factor = stack.pop()
            assert isinstance(factor, int)
            assert factor > 0
            stack.append(constraint().times(factor) if word == "*" else constraint().over(factor))
        else:
            stack.append(int(word) if word.isdecimal() else Constraint({_literal(word): 1}, 0))
    result = constraint()
    assert not stack
    return result


def steps_of(proof: str) -> Iterator[list[str]]:
    """The words of each step."""
    head, *lines = proof.splitlines()
    assert head == "pseudo-Boolean proof version 1.1"
    yield from (line.split() for line in lines)


def accepts(problem: str, proof: str) -> bool:
    """Whether the proof shows that the problem has no solution."""
    constraints = parse_problem(problem)
    known, done = list[Constraint](), False
    for kind, *words in steps_of(proof):
        assert not done
        if kind == "f":
            assert int(words[0]) == len(constraints)
            known += constraints
        elif kind == "pol":
            known.append(_sum(words, known))
        elif kind == "rup":
            claim = parse_constraint(" ".join(words))
            assert all(weight == 1 for weight in claim.terms.values())
            against = Constraint({-one: 1 for one in claim.terms}, len(claim.terms) - claim.degree + 1)
            if not _contradicts([*known, against]):
                return False
            known.append(claim)
        else:
            assert kind == "c"
            last = known[int(words[0]) - 1]
            done = sum(last.terms.values()) < last.degree
    return done
