"""What is known of the terms of an objective, and what a plan says of it."""

from typing import Final

from memstow.planner.model.model_class import maker_of
from memstow.planner.model.plan import Certificate, Least, TermValue, gap_of
from memstow.planner.model.problem import Term
from memstow.planner.model.records import record


@record
class TermBound:
    """A proven lower bound on one term of the objective."""

    value: int
    certificate: Certificate | None


@record
class Stamp:
    """The time and work that a plan took."""

    seconds: float
    work: int


def term_value(term: Term, value: int, bound: TermBound) -> TermValue:
    """A term with what is proven about it."""
    certificate = bound.certificate
    if certificate is None and value == bound.value:
        certificate = Least()
    return _value(str(term), value, bound.value, gap_of(value, bound.value), certificate)


_value: Final = maker_of(TermValue, "term", "value", "bound", "gap", "certificate")
