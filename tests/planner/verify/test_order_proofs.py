"""The judge of proofs that no order needs fewer bytes, against those of the solver and false ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.verify.order_bounds import (
    DeadOf,
    WayOf,
    at_the_ends,
    check_refuted,
    most_saved,
    needed_by,
)
from memstow.planner.verify.untimed_graph import ChainOf, ProofError, Stored, Untimed
from memstow.planner.verify.verdict import Effort
from memstow.solvers import _native
from memstow.solvers.orders import (
    ORDER_SOLVERS,
    Chain,
    CutProof,
    DeadSet,
    OrderInstance,
    OrderListeners,
    OrderTask,
    Proof,
    RefutedProof,
    bytes_while,
    prove_cut,
)
from tests.campaign import gate_first
from tests.solvers.order.instances import edges_of, instance_of, random_instance, shared_graph
from tests.solvers.order.least_peak import Sets
from tests.solvers.order.test_theory import steps_of


def bits(ops: Sequence[int] | frozenset[int]) -> int:
    return sum(1 << op for op in set(ops))


def untimed(instance: OrderInstance) -> Untimed:
    before: list[set[int]] = [set() for _ in range(instance.operator_count)]
    for first, then in edges_of(instance):
        before[then].add(first)
    pairs: list[list[tuple[int, int]]] = [[] for _ in before]
    for op, source, target in zip(*(instance.in_place[k::3] for k in range(3)), strict=True):
        pairs[op].append((source, target))
    storages = [
        Stored(
            size,
            instance.writers_of(s),
            instance.writers_of(s) + instance.readers_of(s),
            bool(instance.from_start[s]),
            bool(instance.to_end[s]),
        )
        for s, size in enumerate(instance.size)
    ]
    return Untimed(instance.extra, storages, before, pairs, instance.base)


def chains_of(chains: Sequence[Chain]) -> list[ChainOf]:
    return [
        ChainOf(chain.bytes, chain.storages, chain.saving if chain.saving >= 0 else None) for chain in chains
    ]


def dead_of(dead: Sequence[DeadSet]) -> list[DeadOf]:
    ops, result = 0, []
    for entry in dead:
        ops ^= bits(entry.changes)
        result.append(DeadOf(ops, bits(entry.commit), chains_of(entry.chains)))
    return result


def check_dead(instance: OrderInstance, proof: RefutedProof, dead: list[DeadOf]) -> None:
    check_refuted(untimed(instance), proof.bytes - 1, proof.late, proof.backwards, dead)


def check(instance: OrderInstance, proof: Proof | None) -> None:
    """Raise ProofError where the judge does not accept the proof."""
    graph = untimed(instance)
    match proof:
        case CutProof() if proof.operator < 0:
            result = at_the_ends(graph)
        case CutProof():
            ways = [WayOf(way.pairs, chains_of(way.chains)) for way in proof.ways]
            result = needed_by(graph, proof.operator, ways)
        case RefutedProof():
            check_dead(instance, proof, dead_of(proof.dead))
            result = proof.bytes
        case _:
            raise AssertionError(proof)
    if result < proof.bytes:
        raise ProofError(f"it shows {result}, not {proof.bytes}")


def proof_of(instance: OrderInstance) -> Proof | None:
    listeners = OrderListeners(lambda *_: None, lambda *_: None)
    outcome = ORDER_SOLVERS["order"].solve(OrderTask(instance), _native.Budget(-1, -1), listeners)
    assert outcome.peak == outcome.bound
    assert outcome.proof is not None
    assert outcome.proof.bytes == outcome.bound
    return outcome.proof


@pytest.mark.parametrize("seed", gate_first(range(300), 100))
def test_every_proof_of_small_instances_is_accepted(seed: int) -> None:
    instance = random_instance(Random(seed), 9)
    check(instance, proof_of(instance))


@pytest.mark.parametrize("seed", range(30))
def test_what_comes_before_and_after_one_operator(seed: int) -> None:
    graph, alone = (untimed(random_instance(Random(seed), 24)) for _ in range(2))
    for op in range(graph.count):
        assert alone.all_before_one(op) == graph.all_before[op]
        assert alone.all_after_one(op) == graph.all_after[op]


def test_a_cut_of_one_operator_needs_no_closures_of_all() -> None:
    # A chain: what the operator in its middle reads and makes is live then.
    count = 1_000
    storages = [Stored(5, [op], {op, min(op + 1, count - 1)}, False, False) for op in range(count)]
    before: list[list[int]] = [[], *([op] for op in range(count - 1))]
    graph = Untimed([0] * count, storages, before, [()] * count, 0)
    assert needed_by(graph, count // 2, [WayOf((), ())]) == 10
    assert not {"all_before", "all_after"} & vars(graph).keys()
    # To know those of many operators, they are found at once.
    assert graph.all_before_one(count - 1) == (1 << count - 1) - 1
    for op in range(30):
        assert graph.all_before_one(op) == (1 << op) - 1
    assert "all_before" in vars(graph)


@pytest.mark.parametrize("name", ["darts_cifar", "nasnet_imagenet", "randwire32", "swiftnet", "ws48_eq_1"])
@pytest.mark.parametrize("in_place", [False, True])
def test_proofs_of_known_graphs_are_accepted(name: str, in_place: bool) -> None:
    instance = shared_graph(name, in_place)
    check(instance, proof_of(instance))


def refutations(count: int) -> Iterator[tuple[OrderInstance, RefutedProof]]:
    """Instances whose least peak no cut proves, with the proof of a search."""
    seed = 0
    while count:
        seed += 1
        instance = random_instance(Random(seed), 9)
        proof = proof_of(instance)
        if isinstance(proof, RefutedProof):
            count -= 1
            yield instance, proof


def test_no_refutation_proves_more_than_there_is() -> None:
    for instance, proof in refutations(20):
        for more in (1, 2, 10):
            with pytest.raises(ProofError):
                check(instance, replace(proof, bytes=proof.bytes + more))


def test_a_refutation_that_lacks_a_set_is_none() -> None:
    for instance, proof in refutations(20):
        dead = dead_of(proof.dead)
        check_dead(instance, proof, dead)
        for k in range(len(dead)):
            with pytest.raises(ProofError):
                check_dead(instance, proof, dead[:k] + dead[k + 1 :])


def test_changed_refutations_never_prove_a_false_bound() -> None:
    rng = Random(1)
    for instance, proof in refutations(20):
        false = replace(proof, bytes=proof.bytes + 1)
        for _ in range(30):
            changed, dead = _changed(rng, instance.operator_count, false)
            with pytest.raises(ProofError):
                check_dead(instance, changed, dead)


def _changed(rng: Random, count: int, proof: RefutedProof) -> tuple[RefutedProof, list[DeadOf]]:
    dead = dead_of(proof.dead)
    some = rng.getrandbits(count)
    match rng.randrange(4):
        case 0:
            return replace(proof, backwards=not proof.backwards), dead
        case 1:
            return replace(proof, late=tuple(index for index in range(count) if rng.random() < 0.3)), dead
        case 2:
            return proof, [*dead, DeadOf(some, ~some & ((1 << count) - 1), ())]
        case _:
            last = dead[-1]
            return proof, [*dead[:-1], replace(last, commit=some & ~last.ops)]


@pytest.mark.parametrize("seed", gate_first(range(100), 35))
def test_cuts_of_all_operators_are_accepted_and_none_is_above_what_it_needs(seed: int) -> None:
    instance = random_instance(Random(seed), 7)
    graph = untimed(instance)
    least = dict[int, int]()
    for op, done in steps_of(instance):
        least[op] = min(least.get(op, 1 << 60), bytes_while(instance, op, done))
    for op, needs in least.items():
        proof = prove_cut(instance, op, 0)
        ways = [WayOf(way.pairs, chains_of(way.chains)) for way in proof.ways]
        assert needed_by(graph, op, ways) <= needs
        # Whether an output of several writers begins here is left open.
        if all(len(instance.writers_of(target)) == 1 for _, target in graph.pairs[op]):
            assert needed_by(graph, op, ways) == needs


FORK = instance_of(
    4,
    [(1, [0], [1, 2]), (8, [1], [3]), (5, [2], [3]), (2, [3], [])],
    outputs=[3],
    in_place=[(3, 1, 3), (3, 2, 3)],
)


def test_a_cut_is_no_more_than_its_chains_show() -> None:
    graph = untimed(FORK)
    both = [WayOf([(1, 3)], []), WayOf([(2, 3)], [])]
    assert needed_by(graph, 3, both) == 8 + 5 + 2 - 2
    assert needed_by(graph, 3, [WayOf([(1, 3), (2, 3)], [])]) == 8 + 5 + 2 - 4
    chain = ChainOf(1, [0, 1])
    for ways, reason in (
        ([WayOf([], [])], "is missing"),
        ([WayOf([(2, 3)], [ChainOf(1, [1])]), both[0]], "more bytes than it has"),
        ([WayOf([(2, 3)], [ChainOf(0, [0])]), both[0]], "no bytes"),
        ([WayOf([(2, 3)], [ChainOf(1, [0], 1)]), both[0]], "not granted"),
    ):
        with pytest.raises(ProofError, match=reason):
            needed_by(graph, 3, ways)
    assert needed_by(graph, 1, [WayOf([], [])]) == 9
    assert needed_by(graph, 1, [WayOf([], [])]) == bytes_while(FORK, 1, (0,))
    with pytest.raises(ProofError, match="more bytes than it has"):
        needed_by(graph, 1, [WayOf([], [chain])])
    with pytest.raises(ProofError, match="need not have begun"):
        needed_by(graph, 1, [WayOf([], [ChainOf(1, [2])])])


def test_the_judge_saves_no_less_than_the_best_pairs() -> None:
    for seed in range(200):
        instance = random_instance(Random(seed), 6)
        sets, graph = Sets(instance), untimed(instance)
        for op, done in steps_of(instance):
            saved = sets.saved(op, bits(done))
            assert saved <= most_saved(instance.size, graph.pairs[op], Effort())
