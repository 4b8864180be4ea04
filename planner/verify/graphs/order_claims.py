"""Checks that a bound holds for every order of a graph: the certificates `cut` and `refuted`."""

from collections.abc import Sequence

from memstow.planner.model.graph import Graph
from memstow.planner.model.order_proofs import Chain, Cut, RefutedOrders
from memstow.planner.verify.graphs.chains import Broken, ChainOf
from memstow.planner.verify.graphs.cut_proof import WayOf, at_the_ends, needed_by
from memstow.planner.verify.graphs.refuted_proof import DeadOf, check_refuted
from memstow.planner.verify.graphs.untimed import Ops
from memstow.planner.verify.graphs.untimed_graph import NamedGraph, named_graph


def reason_against_orders(graph: Graph, bound: int, certificate: Cut | RefutedOrders) -> str | None:
    """Why the certificate does not prove that every order needs this many bytes; None where it does."""
    try:
        named = named_graph(graph)
        shown = _shown(named, certificate)
    except Broken as broken:
        return str(broken)
    except KeyError as missing:
        return f"it names {missing}, which the graph does not have"
    return None if shown >= bound else f"it shows that every order needs {shown:,} bytes"


def _shown(named: NamedGraph, certificate: Cut | RefutedOrders) -> int:
    graph = named.untimed
    if isinstance(certificate, Cut):
        if certificate.operator is None:
            return at_the_ends(graph)
        ways = [
            WayOf(
                [(named.storages[source], named.storages[target]) for source, target in way.pairs],
                _chains(named, way.chains),
            )
            for way in certificate.ways
        ]
        if not ways:
            raise Broken("it names an operator and says nothing about it")
        return needed_by(graph, named.operators[certificate.operator], ways)
    late = [named.operators[name] for name in certificate.late]
    check_refuted(graph, certificate.height, late, certificate.backwards, _sets(named, certificate))
    return certificate.height + 1


def _chains(named: NamedGraph, chains: Sequence[Chain]) -> list[ChainOf]:
    return [
        ChainOf(chain.bytes, [named.storages[name] for name in chain.storages], chain.saving)
        for chain in chains
    ]


def _sets(named: NamedGraph, certificate: RefutedOrders) -> list[DeadOf]:
    ops: Ops = 0
    found = []
    for dead in certificate.sets:
        for name in dead.changes:
            ops ^= 1 << named.operators[name]
        commit = sum(1 << named.operators[name] for name in set(dead.commit))
        found.append(DeadOf(ops, commit, _chains(named, dead.chains)))
    return found
