"""The properties that the solver's proofs rest on, tried on all sets of small instances."""

from collections.abc import Iterator
from random import Random

import pytest

from memstow.solvers.orders import OrderInstance, bytes_while, live_bytes
from tests.solvers.order.instances import closed_sets, edges_of, instance_of, random_instance
from tests.solvers.order.least_peak import Sets

SEEDS = range(60)


def instances() -> Iterator[OrderInstance]:
    for seed in SEEDS:
        yield random_instance(Random(seed), 5)


def pairs_of_sets(instance: OrderInstance) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    sets = closed_sets(instance)
    return ((a, b) for a in sets for b in sets)


def test_live_bytes_are_submodular() -> None:
    for instance in instances():
        live = {entry: live_bytes(instance, entry) for entry in closed_sets(instance)}
        for a, b in pairs_of_sets(instance):
            assert live[a | b] + live[a & b] <= live[a] + live[b]


def steps_of(instance: OrderInstance) -> Iterator[tuple[int, frozenset[int]]]:
    waits = [{a for a, b in edges_of(instance) if b == v} for v in range(instance.operator_count)]
    for done in closed_sets(instance):
        for v in range(instance.operator_count):
            if v not in done and waits[v] <= done:
                yield v, done


def test_what_a_step_adds_to_the_live_bytes_shrinks_the_more_is_done() -> None:
    for instance in instances():
        adds = {
            (v, entry): bytes_while(instance, v, entry) - live_bytes(instance, entry)
            for v, entry in steps_of(instance)
        }
        for (v, less), most in adds.items():
            assert most >= 0
            for (w, more), some in adds.items():
                if v == w and less <= more:
                    assert some <= most


def test_what_a_step_takes_away_grows_the_more_is_done() -> None:
    for instance in instances():
        frees = {
            (v, entry): bytes_while(instance, v, entry) - live_bytes(instance, entry | {v})
            for v, entry in steps_of(instance)
        }
        for (v, less), some in frees.items():
            assert some >= 0
            for (w, more), most in frees.items():
                if v == w and less <= more:
                    assert some <= most


def test_what_a_step_needs_is_submodular_without_a_choice_of_pairs() -> None:
    for instance in instances():
        if not len(instance.in_place):
            needs = {entry: bytes_while(instance, entry[0], entry[1]) for entry in steps_of(instance)}
            for v, a in needs:
                for w, b in needs:
                    if v == w:
                        assert needs[v, a | b] + needs[v, a & b] <= needs[v, a] + needs[v, b]


def test_what_a_step_needs_is_not_submodular_where_one_output_has_two_inputs_to_choose_from() -> None:
    # Operator 2 may write over storage 0 once operator 0 has read it, and over storage 1 once operator 1 has.
    instance = instance_of(
        3,
        [(4, [], [0, 2]), (4, [], [1, 2]), (4, [2], [])],
        inputs=[0, 1],
        in_place=[(2, 0, 2), (2, 1, 2)],
    )
    needs = {done: bytes_while(instance, 2, done) for done in ((), (0,), (1,), (0, 1))}
    assert needs == {(): 12, (0,): 8, (1,): 8, (0, 1): 8}
    assert needs[0, 1] + needs[()] > needs[(0,)] + needs[(1,)]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_ways_to_count_agree(seed: int) -> None:
    instance = random_instance(Random(seed), 6)
    sets = Sets(instance)
    for v, done in steps_of(instance):
        bits = sum(1 << entry for entry in done)
        assert sets.live(bits) == live_bytes(instance, done)
        assert sets.needs(v, bits) == bytes_while(instance, v, done)
