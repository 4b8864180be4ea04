"""Claims of runs that other runs, or the judge, refute: a false bound, optimum or "nothing fits"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.bench.analysis.best_known import BestKnown
from memstow.planner.bench.records.record import Ending
from memstow.planner.bench.records.results import Run
from memstow.planner.show.formatting import count, plain


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A run with a claim that another run, or the judge, refutes."""

    run: Run
    message: str

    @property
    def sentence(self) -> str:
        """The contradiction as a sentence."""
        solver, name = plain(self.run.solver), plain(self.run.instance.name, most=80)
        return f"{solver}, seed {self.run.record.seed}, on {name}: {plain(self.message)}"


def contradictions(runs: Sequence[Run], known: BestKnown) -> list[Contradiction]:
    """Every claim that a judged plan refutes, and every plan that the judge refuses."""
    return [Contradiction(run, message) for run in runs for message in _refuted(run, known)]


def _refuted(run: Run, known: BestKnown) -> Iterator[str]:
    record, best = run.record, known.get(run.instance.digest)
    if record.status is Ending.INVALID:
        codes = ", ".join(record.judged.violations) if record.judged else ""
        yield f"its plan is not valid: {codes or record.error or 'refused'}"
    if best is None:
        return
    found = f"{best.solver} has a valid plan"
    if record.status is Ending.INFEASIBLE:
        yield f"it says that nothing fits, and {found}"
        return
    if not best.value:
        return
    value = run.value
    if run.proven and value is not None and value > best.value:
        worse = next(
            place for place, (mine, other) in enumerate(zip(value, best.value, strict=True)) if mine != other
        )
        yield (
            f"it says that {count(value[worse])} of {best.terms[worse]} is optimal, and {found} with "
            f"{count(best.value[worse])}"
        )
    bounds = [record.bound, *(moment.bound for moment in record.events)]
    highest = max((bound for bound in bounds if bound is not None), default=0)
    if highest > best.value[0]:
        yield (
            f"its bound of {count(highest)} is above {count(best.value[0])} of {best.terms[0]}: {found} "
            "with that"
        )
