"""Why no order needs fewer bytes: proofs as plain data, which a judge can check without searching.

Numbers are those of the instance. docs/order.md explains both proofs; what a judge has to check is said here.
"""

from dataclasses import dataclass
from typing import Final

from memstow.solvers import _native
from memstow.solvers.order.instance import OrderInstance

LARGEST: Final = 100_000
"""A refutation of more numbers than this is told, not written out."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Storages of which one is live, whatever the set: so they add `bytes`.

    In each set looked at the first has begun; where one has ended, some writer of the next is done; the
    last has not ended. `saving` is the number of a pair, -1 for none: then either that pair does not save,
    or the other operators that end its input are done, and so some writer of the first storage is.
    """

    bytes: int
    storages: tuple[int, ...]
    saving: int = -1


@dataclass(frozen=True, slots=True)
class Way:
    """One way to save in place while an operator runs: the pairs granted to it, and chains."""

    pairs: tuple[tuple[int, int], ...]
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class CutProof:
    """An operator needs at least `bytes`, whatever ran before it.

    Looked at are the sets that have all operators that come before it, and neither it nor any that comes
    after. For each way: base + extra + storages that are live in all of these sets while it runs, less what
    the pairs save (the smaller size of each), plus the chains, is at least `bytes`. A storage has at most
    its size in chains, and nothing if it is live in all sets; a pair has at most what it saves.

    The ways cover all sets of pairs that the operator can save with: every such set is within the pairs of
    some way. Or there is one way, with the best pair of every output; then inputs may be in several pairs.

    Without an operator (-1) and ways: what is live before the first or after the last one.
    """

    bytes: int
    operator: int
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadSet:
    """A set of operators from which no order reaches the end within the limit.

    `changes` are the operators in this set or in the one before it, not in both.
    `commit`: more operators, such that no set in between has fewer live bytes than both together, which the
    chains prove; then the two together are dead, and that is why this one is. Empty: each operator that can
    run next needs more than the limit, or leads to a dead set.
    """

    changes: tuple[int, ...]
    commit: tuple[int, ...] = ()
    chains: tuple[Chain, ...] = ()


@dataclass(frozen=True, slots=True)
class RefutedProof:
    """No order needs less than `bytes`: the set without operators is dead.

    It is told of the operators without the `late` ones: nothing can end at these, and they need nothing
    else while they run. What a late operator begins, begins with the first that waits for it. `backwards`:
    time runs backwards.

    A set leads to a dead set when that is what becomes of it after running, as long as there is one, any
    operator that needs no more than the limit (`bytes` - 1) and leaves no more than was live before it.
    """

    bytes: int
    backwards: bool
    late: tuple[int, ...]
    dead: tuple[DeadSet, ...]


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No order needs less than `bytes`: a search says so, with too many dead sets to write out. A claim."""

    bytes: int
    sets: int


Proof = CutProof | RefutedProof | Exhausted


def prove_cut(instance: OrderInstance, operator: int, bound: int) -> CutProof:
    """The proof that this operator needs this many bytes."""
    if operator < 0:
        return CutProof(bound, -1)
    ways = _native.prove_cut(instance.native, operator)
    return CutProof(bound, operator, tuple(Way(tuple(way.pairs), _chains(way.chains)) for way in ways))


def prove_refuted(instance: OrderInstance, refuted: _native.RefutedOrders) -> RefutedProof | Exhausted:
    """The proof of a search that ran dry; a claim where it would be too large."""
    bound = refuted.limit + 1
    if refuted.kept == 0:
        return Exhausted(bound, refuted.sets)
    sets = _native.refuted_sets(instance.native, refuted)
    dead = tuple(
        DeadSet(tuple(changes), tuple(commit), _chains(chains))
        for changes, commit, chains in zip(sets.changes, sets.commits, sets.chains, strict=True)
    )
    proof = RefutedProof(bound, refuted.backwards, tuple(sets.late), dead)
    return proof if _numbers(proof) <= LARGEST else Exhausted(bound, refuted.sets)


def _numbers(proof: RefutedProof) -> int:
    """The numbers of a refutation."""
    return len(proof.late) + sum(
        len(it.changes) + len(it.commit) + sum(1 + len(chain.storages) for chain in it.chains)
        for it in proof.dead
    )


def _chains(chains: list[_native.Chain]) -> tuple[Chain, ...]:
    return tuple(Chain(chain.bytes, tuple(chain.storages), chain.credit) for chain in chains)
