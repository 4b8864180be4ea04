"""Proofs of the search for an order, in the names of the graph."""

from collections.abc import Iterable, Sequence

from memstow.planner.graph.storages import Storage, storages
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Chain, Cut, DeadSet, RefutedOrders, StorageName, Way
from memstow.solvers.order import certificates


def certificate_of(graph: Graph, proof: certificates.Proof | None) -> Cut | RefutedOrders | None:
    """The certificate of a proof; None where there is only a claim."""
    names = _Names(graph)
    match proof:
        case certificates.CutProof():
            operator = None if proof.operator < 0 else graph.operators[proof.operator].id
            return Cut(operator=operator, ways=tuple(names.way(way) for way in proof.ways))
        case certificates.RefutedProof():
            return RefutedOrders(
                height=proof.bytes - 1,
                backwards=proof.backwards,
                late=names.operators(proof.late),
                sets=tuple(names.sets(proof.dead)),
            )
    return None


class _Names:
    """What numbers of the arrays stand for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        stored = storages(graph)
        self._tensor_of = [storage.tensor for storage in stored]
        self._storage = [self._name(storage) for storage in stored]

    def _name(self, storage: Storage) -> StorageName:
        if storage.begin is None:
            return self._graph.tensors[storage.tensor].id
        return self._graph.tensors[storage.outer].id, storage.begin

    def operators(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Their ids, in the order of the document."""
        return tuple(self._graph.operators[number].id for number in sorted(numbers))

    def way(self, way: certificates.Way) -> Way:
        """A way to save in place."""
        return Way(
            pairs=tuple((self._tensor(source), self._tensor(target)) for source, target in way.pairs),
            chains=self._chains(way.chains),
        )

    def _tensor(self, storage: int) -> str:
        return self._graph.tensors[self._tensor_of[storage]].id

    def _chains(self, chains: Sequence[certificates.Chain]) -> tuple[Chain, ...]:
        return tuple(
            Chain(
                bytes=chain.bytes,
                storages=tuple(self._storage[number] for number in chain.storages),
                saving=None if chain.saving < 0 else chain.saving,
            )
            for chain in chains
        )

    def sets(self, dead: Iterable[certificates.DeadSet]) -> Iterable[DeadSet]:
        """Dead sets."""
        return (
            DeadSet(
                changes=self.operators(it.changes),
                commit=self.operators(it.commit),
                chains=self._chains(it.chains),
            )
            for it in dead
        )
