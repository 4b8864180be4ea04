"""Many problems, each run by some solvers, each answer judged; what was wrong, and how much was tried.

`python -m tests.independent SEED` shows one problem and everything that is wrong with its answers.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from memstow.planner.model.errors import DeclinedError
from tests.independent.brute_force import TooMuchError
from tests.independent.documents import PlanDocument, ProblemDocument
from tests.independent.door import Refused, answer, believed, digest_of, objections, shuffled
from tests.independent.forged import forged
from tests.independent.generator import features_of, problem_of
from tests.independent.judge import Truth, faults_of, faults_of_answer
from tests.independent.runs import ALONE, COMPLETE, MODELS, SOLVERS, Run, run_of


@dataclass
class Tally:
    """How much was tried, and what was wrong."""

    problems: int = 0
    runs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def report(self) -> str:
        """What was wrong, and the counts."""
        lines = [*self.findings[:200]]
        lines.append(f"{self.problems} problems, {self.runs} runs, {len(self.findings)} findings")
        lines += [f"{count:8} {name}" for name, count in sorted(self.counts.items())]
        return "\n".join(lines) + "\n"

    def count(self, names: Iterable[str]) -> None:
        self.counts.update(names)


def try_seeds(seeds: Iterable[int], tally: Tally, solvers: Callable[[int], tuple[str, ...]]) -> None:
    """Try one seed after another; a crash is a finding like any other."""
    for seed in seeds:
        try:
            try_seed(seed, tally, solvers(seed))
        except TooMuchError:
            tally.count(["left out: too much for the brute force"])
        except Exception as error:
            tally.findings.append(f"seed {seed}: {type(error).__name__}: {error}")


def try_seed(seed: int, tally: Tally, solvers: tuple[str, ...]) -> None:
    """Run the problem of this seed by these solvers, and judge what they say."""
    problem, hint = problem_of(seed)
    truth = Truth.of(problem, hint)
    tally.problems += 1
    tally.count(["something fits" if truth.best is not None else "nothing fits"])
    there = features_of(problem, hint)
    tally.count(there)
    rng = Random(seed)
    digests: set[str] = set()
    for solver in solvers:
        run = run_of(rng, solver)
        said = answer(problem, hint, run)
        tally.runs += 1
        outcome = _outcome(said)
        tally.count([f"{solver}: {outcome}"])
        if outcome != "declined":
            tally.count(f"run with {name}" for name in run.features())
        wrong = [*faults_in(truth, run, said), *_faults_of_again(problem, hint, run, said)]
        if isinstance(said, dict):
            wrong += _faults_of_judge(truth, problem, hint, said, rng, tally)
            digests.add(said.get("digest") or "none")
        tally.findings += [f"seed {seed}: {run}: {fault}" for fault in wrong]
    if digests and digests != {digest_of(shuffled(problem, rng))}:
        tally.findings.append(f"seed {seed}: the digest is not that of the buffers in another order")


def _faults_of_again(
    problem: ProblemDocument, hint: PlanDocument | None, run: Run, said: PlanDocument | Refused
) -> list[str]:
    """A deterministic run that goes to its end gives the same bytes again."""
    if not run.deterministic or run.cancelled_at is not None or not isinstance(said, dict):
        return []
    again = answer(problem, hint, run)
    same = isinstance(again, dict) and json.dumps(said) == json.dumps(again)
    return [] if same else [f"deterministic, but {json.dumps(said)} and then {again}"]


def _faults_of_judge(
    truth: Truth,
    problem: ProblemDocument,
    hint: PlanDocument | None,
    said: PlanDocument,
    rng: Random,
    tally: Tally,
) -> list[str]:
    """The planner's judge has nothing against the answer, and calls nothing checked that is false."""
    wrong = [f"the planner's judge says: {objection}" for objection in objections(problem, hint, said)]
    how, other = forged(said, rng)
    if not faults_of(truth, other):
        return wrong
    tally.count(["forged plans"])
    if believed(problem, hint, other):
        wrong.append(f"called checked, though forged ({how}): {json.dumps(other)}")
    return wrong


def _outcome(said: PlanDocument | Refused) -> str:
    if isinstance(said, DeclinedError):
        return "declined"
    return said["status"] if isinstance(said, dict) else "refused"


def faults_in(truth: Truth, run: Run, said: PlanDocument | Refused) -> list[str]:
    """What is not so in an answer."""
    if isinstance(said, DeclinedError):
        return []
    if errors := truth.meaning.errors():
        return [f"answered, though {errors[0]}"] if isinstance(said, dict) else []
    if not isinstance(said, dict):
        return [] if truth.best is None else [f"refused ({said}), though {truth.best.places} is a plan"]
    wrong = faults_of_answer(truth, said)
    if run.deterministic and said.get("seconds"):
        wrong.append("a deterministic run says how long it took")
    if not run.limited and run.solver in COMPLETE:
        wrong += _left_undone(run, said)
    return [f"{fault}: {json.dumps(said)}" for fault in wrong]


def _left_undone(run: Run, plan: PlanDocument) -> list[str]:
    """A complete solver without a limit ends where it was told to end."""
    rows = plan.get("objective", [])
    if plan["status"] == "unknown":
        return ["nothing was decided, without a limit"]
    if any(row["gap"] > run.gap for row in rows):
        return ["the gap was not reached, without a limit"]
    return []


def solvers_of(seed: int) -> tuple[str, ...]:
    """Those that run the problem of this seed: our own every time, other people's in turn."""
    own = tuple(name for name in SOLVERS if name not in (*MODELS, ALONE))
    return (*own, MODELS[seed % len(MODELS)])
