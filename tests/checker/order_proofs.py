"""The two checkers of proofs about orders as tests run them; graphs, proofs and wrong proofs to give to them.

`python -m tests.checker.order_proofs COUNT SEED` makes that many wrong ones. What a checker calls verified is
compared with brute force.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from memstow import Options, plan
from memstow.planner.formats import read_document
from memstow.planner.formats.native import write_document
from memstow.planner.graph.lowering import lower
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import FREE, Graph
from memstow.planner.model.plan import Plan
from memstow.planner.proofs import prove_order
from memstow.planner.proofs.proof_file import Proof
from memstow.solvers.core import Budget
from memstow.solvers.orders import DEAD_SETS_MEMORY
from tests.checker.checkers import (
    OF_ORDERS,
    SANITIZERS,
    Attack,
    Batch,
    Files,
    SecondChecker,
    batch,
    build_batch,
    bytes_of,
    change_bytes,
    change_numbers,
    numbers_of,
)
from tests.graphs import Document, needed, orders, random_graph
from tests.referee import breaks

HEAD: Final = b"memstow order proof 1\n"
SECOND: Final = SecondChecker("check_order.py")


def tiny_graph(rng: Random, most: int = 5) -> Document:
    """A graph with all features that proofs have rules for; pools as well."""
    while True:
        document = random_graph(rng.randrange(1 << 40), most)
        if rng.random() < 0.3:
            pool: Document = {
                "id": "memory",
                "alignment": rng.choice((1, 1, 2, 4)),
                "base": rng.choice((0, 4, 6)),
            }
            if rng.random() < 0.5:
                pool["reserved"] = [{"offset": rng.randint(0, 12), "size": rng.randint(1, 4)}]
            if rng.random() < 0.3:
                pool["capacity"] = rng.randint(20, 40)
            document["pools"] = [pool]
        for tensor in document["tensors"]:
            if rng.random() < 0.1:
                tensor["alignment"] = rng.choice((2, 3, 4))
        with suppress(InputError):  # Views may not be aligned where they are.
            read_free(json.dumps(document).encode())
            return document


def wide_graph(rng: Random) -> Document:
    """Few operators wait for others: what one of them needs is rarely all that can be shown."""
    count = rng.randint(4, 6)
    tensors: list[Document] = [
        {"id": f"t{v}", "size": rng.randint(1, 12), "kind": "data"} for v in range(count)
    ]
    operators = list[Document]()
    for v in range(count):
        read = [f"t{u}" for u in range(v) if rng.random() < 2 / count]
        inside = [{"id": f"w{v}", "size": rng.randint(1, 9)}] if rng.random() < 0.25 else []
        pairs = [[name, f"t{v}"] for name in read if rng.random() < 0.3]
        operator = {"id": f"o{v}", "inputs": read, "outputs": [f"t{v}"]}
        operators.append(operator | {"temporaries": inside, "in_place": pairs})
    starts = [f"x{k}" for k in range(rng.randint(0, 2))]
    for name in starts:
        tensors.append({"id": name, "size": rng.randint(1, 12), "kind": "data"})
        for one in rng.sample(operators, 2):
            one["inputs"].append(name)
    return {
        "version": 1,
        "tensors": tensors,
        "operators": operators,
        "inputs": starts,
        "outputs": [f"t{v}" for v in range(count) if rng.random() < 0.25],
        "before": [],
        "views": [],
        "order": "free",
    }


def read_free(document: bytes) -> Graph:
    """The graph, its order free."""
    graph = read_document(document, "graph")
    assert isinstance(graph, Graph)
    return replace(graph, order=FREE)


def least_live(document: Document) -> int:
    """By brute force: the least over all orders of the most that is live at once."""
    return min(max(needed(document, order)) for order in orders(document))


class Writing:
    """Writes a proof of a program of the second checker, with random rules; also of what is not so."""

    def __init__(self, rng: Random, program: Any, height: int, out: int, *, backwards: bool) -> None:
        self._rng = rng
        self._height = height
        self._program = program.without(out)
        self._backwards = backwards
        if backwards:
            self._program = self._program.backwards()
        self._out = out
        self._written: list[int] = []
        self._numbers: list[int] = []

    def numbers(self) -> list[int] | None:
        """The steps of a search; None where an order keeps to the height."""
        self._numbers = [3, self._height, int(self._backwards), *_list(self._out)]
        steps = 1 + sum(self._first() for _ in range(self._rng.choice((0, 0, 4, 12))))
        if self._rng.random() < 0.5:
            for v in SECOND.module.members(self._program.all):
                case = need_of(self._rng, self._program, v, self._height + 1)
                if case is not None:
                    return [*self._numbers, 2, v, *case, 0, steps + 1]
        if not self._settled_is_dead(0):
            return None
        return [*self._numbers, 6, 0, steps + 1 + len(self._written)]

    def _first(self) -> bool:
        """One operator before another, if an operator is drawn that shows it."""
        some = list(SECOND.module.members(self._program.all))
        if len(some) < 2:
            return False
        (u, v), needy = self._rng.sample(some, 2), self._rng.choice(some)
        case = need_of(self._rng, self._program.ordered(v, u), needy, self._height + 1)
        if case is None:
            return False
        self._numbers += [7, u, v, needy, *case]
        self._program = self._program.ordered(u, v)
        return True

    def _settled_is_dead(self, done: int) -> bool:
        done = self._program.settled(done, self._height)
        return done in self._written or (done != self._program.all and self._is_dead(done))

    def _is_dead(self, done: int) -> bool:
        program, rule = self._program, None
        commits = list(self._commits(done))
        if commits and self._rng.random() < 0.7:
            more = self._rng.choice(commits)
            # It may be alive, where no order gets to it.
            rule = [1, *_list(more), 0] if self._settled_is_dead(done | more) else None
        if rule is None:
            rule = [0]
            for v in program.next(done):
                if program.needs(v, done) <= self._height and not self._settled_is_dead(done | 1 << v):
                    return False
        before = self._written[-1] if self._written else 0
        self._numbers += [4, *_list(done ^ before), *rule]
        self._written.append(done)
        return True

    def _commits(self, done: int) -> Iterator[int]:
        """What may be committed to without a chain."""
        program = self._program
        for more in subsets(program.all & ~done):
            then = done | more
            if not more or not program.is_closed(then):
                continue
            between = SECOND.module.Between(done, (1 << len(program.extra)) - 1 & ~then)
            touched = [s for s, one in enumerate(program.storages) if (one.begins | one.ends) & more]
            least = sum(program.storages[s].size for s in touched if program.always_live(s, between))
            live = sum(
                program.storages[s].size
                for s in touched
                if program.begun(s, then) and not program.ended(s, then)
            )
            if least >= live:
                yield more


def least_need(program: Any, v: int) -> int:
    """By brute force: the least that an operator needs; beyond all bytes where it can never run."""
    sets = (done for done in subsets(program.all & ~(1 << v)) if program.is_closed(done))
    return min((program.needs(v, done) for done in sets if v in program.next(done)), default=1 << 62)


def need_of(rng: Random, program: Any, v: int, wanted: int) -> list[int] | None:
    """The numbers of a case that shows that an operator needs so much, by chains that are drawn."""
    least, chains = least_need(program, v), list[tuple[int, ...]]()
    if least < wanted:
        return None
    shown = shown_by(program, v, chains)
    for _ in range(60):
        if shown is None or shown >= wanted or not program.storages:
            break
        row = [rng.randrange(len(program.storages)) for _ in range(rng.choice((1, 1, 2, 3)))]
        amount = rng.randint(1, max(min(program.storages[s].size for s in row), 1))
        longer = [*chains, (amount, rng.randint(0, len(program.pairs[v])), len(row), *row)]
        more = shown_by(program, v, longer)
        if more is not None:
            chains, shown = longer, more
    assert shown is None or shown <= least, (program, v, chains)
    return _case(chains) if shown is not None and shown >= wanted else None


def _case(chains: list[tuple[int, ...]]) -> list[int]:
    return [0, len(chains), *(number for chain in chains for number in chain)]


def shown_by(program: Any, v: int, chains: list[tuple[int, ...]]) -> int | None:
    """What chains show that an operator needs, without choices between pairs; None where they are wrong."""
    proof = SECOND.module.Proof(program, bytes_of([v, *_case(chains)]))
    try:
        return int(proof.least(program))
    except SECOND.module.WrongError:
        return None


def narrowed(program: Any, height: int) -> Any:
    """The program with all that must come first within the height, as far as chains could show it."""
    changed = True
    while changed:
        changed = False
        for u, v in permutations(SECOND.module.members(program.all), 2):
            other_way = program.ordered(v, u)
            if program.before[v] >> u & 1 or program.before[u] >> v & 1:
                continue
            if any(least_need(other_way, w) > height for w in SECOND.module.members(program.all)):
                program, changed = program.ordered(u, v), True
    return program


def prove(graph: Graph, answer: Plan, document: bytes, path: Path, *, narrows: bool) -> Proof | None:
    """What memstow proves: by searches if they can, or without memory for these."""
    memory = 0 if narrows else DEAD_SETS_MEMORY
    with patch.object(prove_order, "DEAD_SETS_MEMORY", memory):
        return prove_order.prove_order_within(graph, answer, document, str(path), Budget(-1.0, 1_000_000))


def subsets(some: int) -> Iterator[int]:
    """All sets within a set."""
    members = list(SECOND.module.members(some))
    for count in range(len(members) + 1):
        for chosen in combinations(members, count):
            yield SECOND.module.set_of(chosen)


def _list(some: int) -> list[int]:
    numbers, following = list[int](), 0
    for member in SECOND.module.members(some):
        numbers.append(member - following)
        following = member + 1
    return [len(numbers), *numbers]


def program_of(document: bytes) -> Any:
    """The program of a graph, as the second checker has it."""
    return SECOND.module.program_of(SECOND.module.Graph(SECOND.module.read_json(document)))


def derivable(program: Any, height: int) -> bool:
    """Whether the rules show that no order keeps to the height, with any commit that chains may justify."""
    closed = [done for done in subsets(program.all) if program.is_closed(done)]
    live = {done: program.live(done) for done in closed}
    settled = {done: program.settled(done, height) for done in closed}
    leads = {
        done: [settled[done | 1 << v] for v in program.next(done) if program.needs(v, done) <= height]
        for done in closed
    }
    dead = set[int]()
    for done in reversed(closed):  # the larger ones first
        if done == program.all:
            continue
        commits = (
            settled[then]
            for then in closed
            if then & done == done != then
            and all(live[x] >= live[then] for x in closed if x & done == done and not x & ~then)
        )
        if all(one in dead for one in leads[done]) or any(one in dead for one in commits):
            dead.add(done)
    return settled[0] in dead


class Case:
    """A graph, a plan and the numbers of a proof."""

    def __init__(self, graph: Document, answer: dict[str, Any], proof: list[int]) -> None:
        self.graph, self.answer, self.proof = graph, answer, proof

    def files(self) -> Files:
        """What checkers read."""
        return files_of(self.graph, self.answer, self.proof)


def files_of(graph: Document, answer: dict[str, Any], numbers: list[int]) -> Files:
    """A proof of these numbers about the graph."""
    document = json.dumps(graph).encode()
    return document, json.dumps(answer).encode(), HEAD + sha256(document).digest() + bytes_of(numbers)


def sample(rng: Random, folder: Path) -> Case | None:
    """What memstow proves of a tiny graph, or a search through it that was written here."""
    graph = rng.choice((tiny_graph, wide_graph))(rng)
    document, path = json.dumps(graph).encode(), folder / "sample.proof"
    free = read_free(document)
    answer = plan(free, Options(deterministic=True, work_limit=500_000))
    numbers: list[int] | None = None
    if rng.random() < 0.7:
        program, height = program_of(document), least_live(graph) - 1
        out = rng.choice([0, rng.randrange(program.all + 1)])
        if height >= 0:
            numbers = Writing(rng, program, height, out, backwards=rng.random() < 0.5).numbers()
    elif prove(free, answer, document, path, narrows=rng.random() < 0.5) is not None:
        numbers = numbers_of(path.read_bytes()[len(HEAD) + 32 :])
    if numbers is None:
        return None
    return Case(graph, json.loads(write_document(answer)), numbers)


def mutant(rng: Random, case: Case) -> Files:
    """The case with a few changes, and the digest of what it has become."""
    graph, answer = json.loads(json.dumps(case.graph)), json.loads(json.dumps(case.answer))
    proof = list(case.proof)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.5:
            change_numbers(rng, proof)
        elif kind < 0.8:
            _change_graph(rng, graph)
        else:
            _change_plan(rng, answer)
    if rng.random() < 0.4 and len(proof) > 1 and proof[0] == 3:
        _claim_plan(graph, answer, proof)
    document, plan_data, data = files_of(graph, answer, proof)
    return document, plan_data, change_bytes(rng, data) if rng.random() < 0.05 else data


def _change_graph(rng: Random, graph: Document) -> None:
    tensor, operator = rng.choice(graph["tensors"]), rng.choice(graph["operators"])
    kind = rng.randrange(12)
    if kind == 0:
        tensor["size"] = max(tensor["size"] + rng.choice((-1, 1)), 0)
    elif kind == 1:
        tensor["alignment"] = rng.randint(1, 4)
    elif kind == 2:
        names = [tensor["id"], *operator["inputs"]]
        pair = [rng.choice(names), rng.choice([tensor["id"], *operator["outputs"]])]
        operator["in_place"] = rng.choice(([], [*operator["in_place"], pair]))
    elif kind == 3:
        side = rng.choice(("inputs", "outputs"))
        graph[side] = rng.choice(([], [*graph[side], tensor["id"]]))
    elif kind == 4:
        names = [one["id"] for one in graph["operators"]]
        graph["before"] = rng.choice(([], [*graph["before"], [rng.choice(names), rng.choice(names)]]))
    elif kind == 5 and graph["views"]:
        view = rng.choice(graph["views"])
        view["offset"] = max(view.get("offset", 0) + rng.choice((-1, 1, 2)), 0)
    elif kind == 6:
        tensor["kind"] = rng.choice(("data", "state", "constant", "external"))
    elif kind == 7:
        operator["inputs"] = rng.choice(([], [*operator["inputs"], tensor["id"]]))
    elif kind == 8 and operator["temporaries"]:
        rng.choice(operator["temporaries"])["size"] = rng.randint(0, 8)
    elif kind == 9:
        pool = {"id": "memory", rng.choice(("capacity", "base", "alignment")): rng.randint(1, 30)}
        graph["pools"] = rng.choice(([], [pool]))
    elif kind == 10:
        graph["operators"].reverse()
    else:
        graph["views"] = []


def _change_plan(rng: Random, answer: dict[str, Any]) -> None:
    places, order = answer.get("placements", []), answer.get("schedule", {}).get("order", [])
    kind = rng.random()
    if not places or kind < 0.1:
        answer["status"] = rng.choice(("optimal", "infeasible", "unknown"))
    elif kind < 0.3 and order:
        i, j = rng.randrange(len(order)), rng.randrange(len(order))
        order[i], order[j] = order[j], order[i]
    elif kind < 0.5:
        up = rng.randint(1, 4)
        for place in places:
            place["offset"] += up
    else:
        place = rng.choice(places)
        place["offset"] = max(place["offset"] + rng.choice((-2, -1, 1, 2, 4)), 0)


def _claim_plan(graph: Document, answer: dict[str, Any], proof: list[int]) -> None:
    """Let the height be what the plan would need."""
    sizes = {one["id"]: one["size"] for one in graph["tensors"]}
    sizes |= {one["id"]: one["size"] for each in graph["operators"] for one in each["temporaries"]}
    ends = [place["offset"] + sizes.get(place["buffer"], 0) for place in answer.get("placements", [])]
    if ends:
        proof[1] = max(max(ends) - 1, 0)


@cache
def _least_of(document: bytes) -> int:
    return least_live(json.loads(document))


def is_true(files: Files, words: str) -> bool:
    """Whether the plan is right and no order can do with less, or with what is said, by brute force."""
    document, answer = json.loads(files[0]), json.loads(files[1])
    pool = (document.get("pools") or [{"id": "memory"}])[0]
    taken = {
        byte for one in pool.get("reserved", []) for byte in range(one["offset"], one["offset"] + one["size"])
    }

    def room(end: int) -> int:
        return end - sum(byte < end for byte in taken)

    if answer["status"] == "infeasible":
        return _least_of(files[0]) > room(pool["capacity"])
    graph = read_free(files[0])
    order = answer.get("schedule", {}).get("order") or [one["id"] for one in document["operators"]]
    if order not in list(orders(document)):
        return False
    index = {operator.id: i for i, operator in enumerate(graph.operators)}
    problem = lower(graph, [index[name] for name in order])
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    places = {place["buffer"]: (place["pool"], place["offset"]) for place in answer["placements"]}
    if places.keys() != sizes.keys() or breaks(problem, places):
        return False
    peak = max((offset + sizes[name] for name, (_, offset) in places.items() if sizes[name]), default=0)
    weaker = re.search(r"only that in each order (\d+) bytes", words)
    if weaker is not None:
        return _least_of(files[0]) >= int(weaker[1])
    return peak == 0 or _least_of(files[0]) > room(peak - 1)


def campaign(checker: Batch, folder: Path, count: int, seed: int) -> "Counter[int]":
    """How often each exit code came; an AssertionError where one is wrong, or the checkers disagree."""

    def case(rng: Random, _there: int) -> Case | None:
        return sample(rng, folder)

    return Attack(case, mutant, is_true, SECOND.check, 20).run(checker, folder, count, seed)


def main(words: list[str]) -> int:
    """Make mutants, and print what became of them."""
    count, seed = int(words[0]), int(words[1])
    with TemporaryDirectory() as name:
        folder = Path(name)
        with batch(build_batch(folder, *SANITIZERS, *OF_ORDERS), folder) as checker:
            print(campaign(checker, folder, count, seed))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
