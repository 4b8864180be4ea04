"""Attacks on the checker: proofs, plans and problems that were changed, so that what they claim may be false.

`python -m tests.checker.mutations COUNT SEED` makes that many, with `costs`, `placements`, `sums` or `ties`
after it of problems with reuse costs, several pools, sums of their peaks or many pairs in place. What the
checker calls verified is compared with brute force.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from memstow import Options, plan
from memstow.planner.formats import read_problem
from memstow.planner.formats.native import write_plan
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.prove import prove_within
from memstow.solvers.core import Budget
from tests.checker.checkers import (
    HEAD,
    SANITIZERS,
    Attack,
    Batch,
    Files,
    batch,
    build_batch,
    bytes_of,
    change_bytes,
    change_numbers,
    document_of,
    numbers_of,
    second,
    tiny_costs,
    tiny_mixed,
    tiny_placements,
    tiny_problem,
    tiny_sums,
    tiny_ties,
)
from tests.referee import best, breaks, cost


@dataclass(frozen=True)
class Case:
    """A problem, a plan and a proof, which hold."""

    problem: dict[str, Any]
    plan: dict[str, Any]
    proof: list[int]


def sample(
    rng: Random, folder: Path, needs_lemmas: bool, tiny: "Callable[[Random], Problem]" = tiny_problem
) -> Case | None:
    """A case of a tiny problem; None where it has no proof, or none with lemmas or cores."""
    problem = tiny(rng)
    document, path = document_of(problem), folder / "sample.proof"
    answer = plan(problem, Options(deterministic=True, work_limit=200_000))
    if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return None
    proof = prove_within(problem, answer, document, str(path), Budget(-1.0, 1_000_000))
    if proof is None:
        return None
    numbers = numbers_of(path.read_bytes()[len(HEAD) + 32 :])
    if needs_lemmas and proof.steps == 1:
        return None
    return Case(json.loads(document), json.loads(write_plan(problem, answer)), numbers)


def mutant(rng: Random, case: Case) -> Files:
    """The case with a few changes, and the digest of what it has become."""
    problem, answer = json.loads(json.dumps(case.problem)), json.loads(json.dumps(case.plan))
    proof = list(case.proof)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.5:
            change_numbers(rng, proof)
        elif kind < 0.75:
            _change_problem(rng, problem)
        else:
            _change_plan(rng, answer)
    if rng.random() < 0.4:
        _claim_plan(problem, answer, proof)
    document = json.dumps(problem).encode()
    data = HEAD + sha256(document).digest() + bytes_of(proof)
    if rng.random() < 0.1:
        data = change_bytes(rng, data)
    return document, json.dumps(answer).encode(), data


def _change_problem(rng: Random, problem: dict[str, Any]) -> None:
    buffer = rng.choice(problem["buffers"])
    kind = rng.randrange(11)
    if problem.get("reuse_costs") and rng.random() < 0.2:
        _change_costs(rng, problem)
    elif kind == 0:
        buffer["size"] = max(buffer["size"] + rng.choice((-1, 1)), 0)
    elif kind == 1:
        buffer["alignment"] = rng.randint(1, 4)
    elif kind == 2 and isinstance(buffer.get("lifetime"), list):
        buffer["lifetime"][rng.randrange(2)] += rng.choice((-1, 1))
    elif kind == 3:
        for name in rng.sample(("conflicts", "exclusive", "in_place", "relative"), 4):
            if problem.get(name):
                problem[name].pop(rng.randrange(len(problem[name])))
                return
    elif kind == 4:
        pool = rng.choice(problem.setdefault("pools", [{"id": "memory"}]))
        pool[rng.choice(("capacity", "base", "alignment"))] = rng.randint(1, 12)
    elif kind == 5:
        buffer.pop("offset", None)
    elif kind == 6 and problem.get("relative"):
        rng.choice(problem["relative"])["offset"] += rng.choice((-2, -1, 1, 2))
    elif kind == 8:
        names = [pool["id"] for pool in problem.get("pools", [])]
        buffer["pools"] = rng.sample(names, rng.randint(0, len(names)))
    elif kind == 10:
        rng.choice(problem.setdefault("pools", [{"id": "memory"}]))["cost"] = rng.randint(0, 4)
        buffer["accesses"] = rng.randint(0, 6)
    elif kind == 7:
        names = [rng.choice(problem["buffers"])["id"] for _ in range(2)]
        tie = {"buffer": names[0], "base": names[1], "offset": rng.randint(-4, 4)}
        problem.setdefault("relative", []).append(tie)
    else:
        names = [rng.choice(problem["buffers"])["id"] for _ in range(2)]
        problem.setdefault(rng.choice(("exclusive", "conflicts")), []).append(names)


def _change_costs(rng: Random, problem: dict[str, Any]) -> None:
    costs = problem["reuse_costs"]
    entry, kind = rng.choice(costs), rng.randrange(4)
    if kind == 0:
        entry["cost"] = max(entry["cost"] + rng.choice((-1, 1, 2)), 0)
    elif kind == 1:
        costs.remove(entry)
    elif kind == 2 or "reuse_cost" not in problem.get("objective", []):
        costs.append(json.loads(json.dumps(entry)))
    else:
        problem["objective"] = rng.sample(("peak", "reuse_cost", "max_peak"), rng.randint(1, 2))


def _change_plan(rng: Random, answer: dict[str, Any]) -> None:
    places = answer.get("placements", [])
    if not places or rng.random() < 0.1:
        answer["status"] = rng.choice(("optimal", "infeasible", "unknown"))
    elif rng.random() < 0.5:
        up = rng.randint(1, 4)
        for place in places:
            place["offset"] += up
    elif rng.random() < 0.3:
        rng.choice(places)["pool"] = rng.choice(places)["pool"]
    else:
        place = rng.choice(places)
        place["offset"] = max(place["offset"] + rng.choice((-2, -1, 1, 2, 4)), 0)


def _claim_plan(problem: dict[str, Any], answer: dict[str, Any], proof: list[int]) -> None:
    """Let the last conclusion be what the plan would need."""
    sizes = {buffer["id"]: buffer["size"] for buffer in problem["buffers"]}
    ends = [place["offset"] + sizes.get(place["buffer"], 0) for place in answer.get("placements", [])]
    for at in range(len(proof) - 1, 0, -1):
        if proof[at - 1] == 3 and ends:
            proof[at] = max(max(ends) - 1, 0)
            return


@cache
def _least(document: bytes, terms: tuple[str, ...]) -> tuple[int, ...] | None:
    """By brute force: the least values of the terms; None if nothing fits."""
    problem = replace(read_problem(document, "json"), objective=terms)
    status, vector = best(problem)
    return None if status is Status.INFEASIBLE else vector


def _term_of(name: str) -> str:
    if name.startswith("peak of "):
        return "peak:" + name.removeprefix("peak of '")[:-1].replace("''", "'")
    return {"peak": "max_peak", "sum of peaks": "peak"}.get(name, name.replace(" ", "_"))


def is_true(files: Files, words: str = "peak 0") -> bool:
    """Whether the plan is right and none is better in the terms named, or below what is, or nothing fits.

    By brute force.
    """
    document, answer = files[0], json.loads(files[1])
    named = re.findall(
        r"(sum of peaks|peak of '(?:[^']|'')*'|peak|reuse cost|placement cost|preference) \d+", words
    )
    terms = tuple(_term_of(name) for name in named)
    try:
        problem = read_problem(document, "json")
        least = _least(document, terms)
    except InputError:
        # Two pins that clash are an error here; for the checker nothing fits then.
        return bool(answer["status"] == "infeasible")
    if answer["status"] == "infeasible":
        return least is None
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    places = {place["buffer"]: (place["pool"], place["offset"]) for place in answer.get("placements", [])}
    if places.keys() != sizes.keys() or breaks(problem, places):
        return False
    weaker = re.search(r"only that none is below (\d+)", words)
    if weaker is not None:
        return least is not None and least[0] >= int(weaker[1])
    return cost(replace(problem, objective=terms), places) == least


def campaign(
    checker: Batch,
    folder: Path,
    count: int,
    seed: int,
    referee_each: int = 10,
    tiny: "Callable[[Random], Problem]" = tiny_problem,
) -> "Counter[int]":
    """How often each exit code came; an AssertionError where one is wrong, or the checkers disagree."""

    def case(rng: Random, there: int) -> Case | None:
        return sample(rng, folder, there % 3 > 0, tiny)

    return Attack(case, mutant, is_true, second, 50, referee_each).run(checker, folder, count, seed)


def main(words: list[str]) -> int:
    """Make mutants, and print what became of them."""
    makers = {
        "costs": tiny_costs,
        "mixed": tiny_mixed,
        "placements": tiny_placements,
        "sums": tiny_sums,
        "ties": tiny_ties,
    }
    count, seed, tiny = int(words[0]), int(words[1]), makers.get("".join(words[2:]), tiny_problem)
    with TemporaryDirectory() as name:
        folder = Path(name)
        with batch(build_batch(folder, *SANITIZERS), folder) as checker:
            print(campaign(checker, folder, count, seed, tiny=tiny))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
