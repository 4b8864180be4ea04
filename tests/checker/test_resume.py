"""Proofs that go on from what an earlier run has left in their file."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest

import memstow
from memstow import (
    Buffer,
    CheckedProof,
    InPlace,
    Options,
    Plan,
    Pool,
    Problem,
    Proof,
    Status,
    check_proof,
    plan,
)
from memstow.planner.formats.native import write_plan
from memstow.planner.proofs.check import Outcome
from memstow.planner.proofs.prove import prove_within
from memstow.planner.proofs.resume import earlier_in, prove_on
from memstow.solvers.core import Budget
from tests.campaign import rounds
from tests.checker.checkers import HEAD, VERIFIED, WEAKER, WRONG, Batch, compilers, document_of, second

pytestmark = pytest.mark.skipif(not compilers(), reason="the checker needs g++ or clang++")

_LOOK: Final = 20_000
"""Steps after which a search looks at its budget."""


def dense(seed: int, kind: str) -> tuple[Problem, Plan]:
    """A problem whose least peak a search of some looks has to show, and its best plan."""
    rng = Random(seed)
    count = {"pools": 10, "ties": 20}.get(kind, 18)
    last, shortest, longest = (8, 2, 8) if kind == "pools" else (12, 1, 6)
    lives = [
        (begin, begin + rng.randint(shortest, longest))
        for begin in (rng.randrange(last) for _ in range(count))
    ]
    buffers = [
        Buffer(id=f"b{k}", size=rng.choice((7, 11, 13, 17, 19)), lifetime=life)
        if kind == "pools"
        else Buffer(id=f"b{k}", size=rng.randint(3, 40), lifetime=life, alignment=rng.choice((1, 1, 4)))
        for k, life in enumerate(lives)
    ]
    pools = [Pool(id=name) for name in ("pq" if kind == "pools" else "p")]
    problem = Problem(buffers=buffers, pools=pools, objective=("max_peak",))
    if kind == "ties":
        pairs = [
            InPlace(input=f"b{i}", output=f"b{j}")
            for i in range(count)
            for j in range(count)
            if lives[i][1] - 1 == lives[j][0]
        ]
        rng.shuffle(pairs)
        problem = replace(problem, in_place=tuple(pairs[:4]))
    answer = plan(problem, Options(deterministic=True))
    if kind == "infeasible":
        pool = Pool(id="p", capacity=answer.objective[0].value - 1)
        problem = replace(problem, pools=(pool,))
        answer = plan(problem, Options(deterministic=True))
    assert answer.status is (Status.INFEASIBLE if kind == "infeasible" else Status.OPTIMAL)
    return problem, answer


HARD: Final = [
    (13, "one"), (28, "one"), (21, "ties"), (107, "ties"), (16, "pools"), (37, "pools"), (14, "infeasible"),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "kind"), HARD)
def test_runs_that_limits_end_come_to_a_proof_together(
    checker: Batch, tmp_path: Path, seed: int, kind: str
) -> None:
    problem, answer = dense(seed, kind)
    document, path, whole = document_of(problem), tmp_path / "plan.proof", tmp_path / "whole.proof"
    at_once = Budget(-1.0, 50_000_000)
    proof = prove_within(problem, answer, document, str(whole), at_once)
    assert proof is not None
    assert proof.unfinished == 0
    there, work, runs, left = None, 0, 0, 0
    while there is None or not there.verified:
        budget = Budget(-1.0, max(2 * _LOOK, at_once.work // 4))
        earlier = earlier_in(str(path), document, answer, Budget(-1.0, -1), 60.0)
        written = prove_on(problem, answer, document, str(path), budget, earlier)
        work, runs = work + budget.work, runs + 1
        assert isinstance(written, Proof)
        files = (document, write_plan(problem, answer), path.read_bytes())
        verdict = checker.check(files)
        assert second(files, tmp_path).code == verdict.code
        less = WRONG if kind == "infeasible" else WEAKER
        assert verdict.code == (less if written.unfinished else VERIFIED)
        if written.unfinished:
            assert written.unfinished > left, "each run takes it further"
            left = written.unfinished
        there = check_proof(document, answer, path)
    assert runs > 2
    assert there.bounds == proof.bounds
    assert work < 2 * at_once.work + runs * _LOOK


@pytest.mark.rounds
def test_what_is_gone_on_from_may_be_anything(tmp_path: Path) -> None:
    problem, answer = dense(13, "one")
    document, path, unfinished = document_of(problem), tmp_path / "plan.proof", tmp_path / "unfinished"
    budget = Budget(-1.0, 10 * _LOOK)
    assert prove_within(problem, answer, document, str(unfinished), budget, None, True) is not None
    data, rng, least, said = unfinished.read_bytes(), Random(1), answer.objective[0].value, Counter[Outcome]()
    # As much as is there, without a step more, and that the plan is one more than needed, which is not so.
    claims = replace(answer.objective[0], value=least + 1, bound=least + 1)
    for _ in range(rounds(1_000)):
        changed = bytearray(data)
        for _ in range(rng.randint(0, 4)):
            at = rng.randrange(len(HEAD) + 32, len(data))
            changed[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        unfinished.write_bytes(changed)
        wanted = answer if rng.random() < 0.5 else replace(answer, objective=(claims,))
        budget = Budget(-1.0, rng.choice((0, 5 * _LOOK)))
        if prove_within(problem, wanted, document, str(path), budget, None, True, str(unfinished)) is None:
            continue
        checked = check_proof(document, answer, path)
        said[checked.outcome] += 1
        assert checked.outcome is not Outcome.NOT_CHECKED
        assert not checked.shows or max(checked.bounds) <= least
    assert min(said[Outcome.WRONG], said[Outcome.WEAKER]) > 20


def test_the_library_goes_on_and_keeps_what_shows_as_much(tmp_path: Path) -> None:
    problem, answer = dense(14, "one")
    document, path = document_of(problem), tmp_path / "plan.proof"
    first = memstow.resume_proof(document, answer, path)
    assert isinstance(first, Proof)
    assert first.bound == answer.objective[0].value
    again = memstow.resume_proof(document, answer, path)
    assert isinstance(again, CheckedProof)
    assert (again.verified, again.sha256) == (True, first.sha256)
    # Of another problem nothing is kept.
    other, best = dense(13, "one")
    fresh = memstow.resume_proof(document_of(other), best, path)
    assert isinstance(fresh, Proof)
    assert check_proof(document_of(other), best, path).verified


@pytest.mark.parametrize("terms", [("max_peak",), ("max_peak", "peak")])
def test_what_was_shown_before_is_still_shown_by_what_goes_on(tmp_path: Path, terms: tuple[str, ...]) -> None:
    problem, best = dense(14, "one")
    problem = replace(problem, objective=terms)
    document, path = document_of(problem), tmp_path / "plan.proof"
    values = tuple(replace(best.objective[0], term=term) for term in terms)
    answer, least = replace(best, objective=values), values[0].value
    value = replace(values[0], bound=least - 2, certificate=None)
    knows_less = replace(answer, objective=(value, *values[1:]))

    def run(wanted: Plan, work: int) -> Proof | CheckedProof | None:
        there = earlier_in(str(path), document, wanted, Budget(-1.0, -1), 60.0)
        budget = Budget(-1.0, work)
        return (
            there.proof
            if there.suffices(wanted)
            else prove_on(problem, wanted, document, str(path), budget, there)
        )

    first = run(knows_less, 50_000_000)
    assert first is not None
    assert first.bounds[0] == least - 2
    sizes = [path.stat().st_size]
    while isinstance(last := run(answer, 5 * _LOOK), Proof):
        said = check_proof(document, answer, path)
        assert (said.is_right, said.bounds[0]) == (True, last.bound)
        assert said.bounds[0] == (least - 2 if last.unfinished else least)
        sizes.append(path.stat().st_size)
    assert isinstance(last, CheckedProof)
    assert last.bounds[0] == least
    assert (sizes == sorted(set(sizes)), len(sizes) > 2) == (True, True)
    # With nothing left, and with less wanted, nothing is lost.
    assert isinstance(run(knows_less, 0), CheckedProof)
    assert path.stat().st_size == sizes[-1]
