"""When two instances are one: equal but for names, the order of what is listed, units and the run of time.

A problem or a graph becomes a *structure*: atoms with labels, and ties between them. What does not matter is
left out on the way: sizes are in units of their grid, times are numbers of phases (of the moments between an
end and a begin, which are all that tells which buffers meet), a listed conflict of buffers that meet anyway
is none. Colour refinement makes a name of a structure that no renaming changes; time has two directions, of
which the smaller name counts. Structures of one name are compared exactly, by a search that is bounded.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from math import gcd
from typing import Final, Literal

from memstow.planner.model.graph import FREE, Graph, Operator, Temporary, Tensor, is_planned, size_of
from memstow.planner.model.problem import (
    ALWAYS,
    ONE_MEMORY,
    Buffer,
    Kind,
    Minimised,
    Pool,
    Problem,
    Range,
    access_counts,
    bank_pairs,
    bank_ranges,
    counts,
    merged,
    named_pools,
    parse_term,
    rigid_groups,
    spans,
    uses_banks,
)

MOST_WORK: Final = 4_000_000
"""Atoms and ties that are looked at to name a structure, or to compare two: some seconds."""
_MOST_ROUNDS: Final = 64
_ROUNDS_OF_A_STEP: Final = 32
"""What a step of a comparison counts as."""

_Colour = bytes


@dataclass(frozen=True, slots=True)
class _Tie:
    """Atoms that belong together, each in its role, or in any order."""

    label: str
    members: tuple[int, ...]
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A problem or a graph without names."""

    frame: str
    """What is about all of it."""
    atoms: tuple[str, ...]
    ties: tuple[_Tie, ...]

    @property
    def weight(self) -> int:
        """How much it takes to look at all of it once."""
        return len(self.atoms) + sum(1 + len(tie.members) for tie in self.ties)


def form_of(document: Problem | Graph) -> str:
    """The name of its canonical form: SHA-256, in hex."""
    return min(map(_name, _structures(document)))


def are_one(one: Problem | Graph, other: Problem | Graph) -> bool | None:
    """Whether both are equal but for what does not matter; None where that takes too long to decide."""
    if isinstance(one, Graph) != isinstance(other, Graph):
        return False
    (first, *_), undecided = _structures(one), False
    for second in _structures(other):
        same = _Comparison(first, second).run()
        if same:
            return True
        undecided = undecided or same is None
    return None if undecided else False


def _structures(document: Problem | Graph) -> Sequence[Structure]:
    """The structure, of a problem in both directions of time."""
    if isinstance(document, Graph):
        return (_graph_structure(document),)
    forward = _problem_structure(document, backwards=False)
    return forward, _problem_structure(document, backwards=True)


# Colour refinement.


def _hashed(*parts: bytes) -> _Colour:
    colour = blake2b(digest_size=16)
    for part in parts:
        colour.update(len(part).to_bytes(4, "little"))
        colour.update(part)
    return colour.digest()


def _tie_colour(tie: _Tie, label: bytes, colours: Sequence[_Colour]) -> _Colour:
    members = [colours[member] for member in tie.members]
    return _hashed(label, *(members if tie.is_ordered else sorted(members)))


def _refined(structure: Structure, marks: Sequence[int] = ()) -> list[_Colour]:
    """A colour of each atom; atoms that a renaming can exchange have one. `marks` are singled out."""
    colours = [_hashed(label.encode("utf-8", "surrogatepass")) for label in structure.atoms]
    for number, atom in enumerate(marks):
        colours[atom] = _hashed(colours[atom], str(number).encode())
    labels = [tie.label.encode() for tie in structure.ties]
    roles: dict[int, list[tuple[int, bytes]]] = {}
    for index, tie in enumerate(structure.ties):
        for role, member in enumerate(tie.members):
            roles.setdefault(member, []).append((index, str(role if tie.is_ordered else 0).encode()))
    # How many rounds there are depends on nothing that a renaming changes.
    rounds = min(_MOST_ROUNDS, max(2, MOST_WORK // max(structure.weight, 1))) if roles else 0
    kinds = len(set(colours))
    for _ in range(rounds):
        of_ties = [
            _tie_colour(tie, label, colours) for tie, label in zip(structure.ties, labels, strict=True)
        ]
        refined = list(colours)
        for atom, entries in roles.items():
            refined[atom] = _hashed(colours[atom], *sorted(of_ties[index] + role for index, role in entries))
        colours, before = refined, kinds
        kinds = len(set(colours))
        if kinds == before:
            break
    return colours


def _name(structure: Structure) -> str:
    colours = _refined(structure)
    ties = sorted(_tie_colour(tie, tie.label.encode(), colours) for tie in structure.ties)
    name = sha256(b"memstow-form 1\n")
    name.update(_hashed(structure.frame.encode("utf-8", "surrogatepass"), *sorted(colours)))
    name.update(_hashed(*ties))
    return name.hexdigest()


class _Comparison:
    """Looks for a renaming of one structure that makes it the other: atoms are singled out, pair by pair."""

    def __init__(self, one: Structure, other: Structure) -> None:
        self._one = one
        self._other = other
        self._work = MOST_WORK
        self._tied = {member for tie in one.ties for member in tie.members}
        self._other_ties = Counter(_placed(tie, tie.members) for tie in other.ties)

    def run(self) -> bool | None:
        """Whether there is one; None where the search was cut short."""
        one, other = self._one, self._other
        if (one.frame, len(one.atoms), len(one.ties)) != (other.frame, len(other.atoms), len(other.ties)):
            return False
        if Counter(one.atoms) != Counter(other.atoms):
            return False
        # Pairs that are singled out, and what else the first of the last pair may be paired with.
        pairs: list[tuple[int, int]] = []
        choices: list[tuple[int, Iterator[int]]] = []
        while True:
            self._work -= one.weight * _ROUNDS_OF_A_STEP
            if self._work < 0:
                return None
            opened = self._opened(pairs)
            if opened is True:
                return True
            if opened is not None:
                choices.append(opened)
            while choices:
                atom, others = choices[-1]
                following = next(others, None)
                del pairs[len(choices) - 1 :]
                if following is not None:
                    pairs.append((atom, following))
                    break
                choices.pop()
            if not choices:
                return False

    def _opened(self, pairs: Sequence[tuple[int, int]]) -> Literal[True] | tuple[int, Iterator[int]] | None:
        """True: the pairs lead to a renaming; None: to none; else an atom, and what to pair it with."""
        classes = _classes(_refined(self._one, [pair[0] for pair in pairs]))
        others = _classes(_refined(self._other, [pair[1] for pair in pairs]))
        if {colour: len(atoms) for colour, atoms in classes.items()} != {
            colour: len(atoms) for colour, atoms in others.items()
        }:
            return None
        unclear = [
            colour
            for colour, atoms in classes.items()
            if len(atoms) > 1 and any(atom in self._tied for atom in atoms)
        ]
        if unclear:
            colour = min(unclear, key=lambda colour: (len(classes[colour]), colour))
            return classes[colour][0], iter(others[colour])
        renamed = {
            atom: other
            for colour, atoms in classes.items()
            for atom, other in zip(atoms, others[colour], strict=True)
        }
        return True if self._is_renaming(renamed) else None

    def _is_renaming(self, renamed: dict[int, int]) -> bool:
        one, other = self._one, self._other
        if any(one.atoms[atom] != other.atoms[image] for atom, image in renamed.items()):
            return False
        return self._other_ties == Counter(
            _placed(tie, [renamed[member] for member in tie.members]) for tie in one.ties
        )


def _placed(tie: _Tie, members: Sequence[int]) -> tuple[str, tuple[int, ...]]:
    return tie.label, tuple(members if tie.is_ordered else sorted(members))


def _classes(colours: Sequence[_Colour]) -> dict[_Colour, list[int]]:
    classes: dict[_Colour, list[int]] = {}
    for atom, colour in enumerate(colours):
        classes.setdefault(colour, []).append(atom)
    return classes


# What is left of a problem without names.


def _grid(lengths: Iterable[int], alignments: Iterable[int], otherwise: Iterable[int]) -> int:
    """The unit of all offsets that matter: rounding down to its multiples breaks no layout.

    `otherwise`: what is measured where nothing has a length.
    """
    # As in docs/proofs.md.
    steps = {alignment for alignment in alignments if alignment > 1}
    unit, before = gcd(*lengths) or gcd(*otherwise) or gcd(*steps) or 1, 0
    while before != unit:
        before = unit
        for alignment in steps:
            if unit % alignment:
                unit = gcd(unit, alignment)
    return unit


class _Memories:
    """Pools and the objective, with lengths in units of the grid.

    One pool is a part of the frame. Of several each is an atom, since their order is that of a list; only
    for `preference` it counts.
    """

    def __init__(
        self,
        document: Minimised,
        pools: Sequence[Pool],
        lengths: Iterable[int],
        alignments: Iterable[int],
        *,
        has_banks: bool = False,
    ) -> None:
        ends = (length for pool in pools for one in pool.reserved for length in (one.offset, one.size))
        banks = (length for pool in pools for bank in pool.banks for length in (bank.offset, bank.size))
        bases = (pool.base or 0 for pool in pools)
        self.unit = _grid(
            [*lengths, *ends, *banks, *bases],
            [*alignments, *(pool.alignment for pool in pools)],
            [pool.capacity or 0 for pool in pools],
        )
        self._pools = pools
        self._number = {pool.id: number for number, pool in enumerate(pools)}
        self._prefers = counts(document, Kind.PREFERENCE)
        has_costs = counts(document, Kind.PLACEMENT_COST)
        common = gcd(*(pool.cost for pool in pools)) or 1
        costs = [pool.cost // common if has_costs else 0 for pool in pools]
        terms = document.terms()
        shown = [self._pool(pool, cost) for pool, cost in zip(pools, costs, strict=True)]
        self.frame = f"objective {list(map(self._term, terms))}"
        self.atoms: list[str] = []
        """Of several pools."""
        in_banks = [self._ranges(bank_ranges(pool)) for pool in pools] if has_banks else []
        if len(pools) == 1:
            self.frame = f"pools {shown} {self.frame}" + (f" banks {in_banks}" if has_banks else "")
            return
        for number, (pool, facts) in enumerate(zip(pools, shown, strict=True)):
            roles = [role for role, term in enumerate(terms) if self._is_about(term, pool)]
            place = number if self._prefers else None
            self.atoms.append(f"pool {(facts, roles, place, in_banks[number:][:1])}")

    def aligned(self, alignment: int) -> int:
        """The alignment on the grid; 1: all of it is aligned."""
        return alignment // self.unit if self.unit % alignment else 1

    def allowed(self, names: Sequence[str] | None) -> str:
        """How many pools something may be in; which they are say its ties."""
        chosen = len(self._chosen(names))
        return "*" if not chosen else str(chosen)

    def ties(self, atom: int, names: Sequence[str] | None, first: int) -> Iterator[_Tie]:
        """Those of an atom to the pools that it may be in, of which the first is this atom."""
        for place, number in enumerate(self._chosen(names)):
            yield _Tie(f"in {place if self._prefers else ''}", (atom, first + number), is_ordered=True)

    def _chosen(self, names: Sequence[str] | None) -> list[int]:
        """The numbers of the pools that something may be in; none: all, in their order where that counts."""
        numbers = [self._number[name] for name in names or self._number]
        if not self._prefers:
            numbers.sort()
        return [] if numbers == list(range(len(self._pools))) else numbers

    def _pool(self, pool: Pool, cost: int) -> tuple[object, ...]:
        reserved = merged((one.offset, one.offset + one.size) for one in pool.reserved)
        return (
            None if pool.capacity is None else pool.capacity // self.unit,
            self.aligned(pool.alignment),
            (pool.base or 0) // self.unit,
            cost,
            self._ranges(reserved),
        )

    def _ranges(self, ranges: Iterable[Range]) -> list[Range]:
        return [(begin // self.unit, end // self.unit) for begin, end in ranges]

    def _term(self, text: str) -> str:
        term = parse_term(text)
        if term is None:
            return text
        if len(self._pools) == 1 and term.kind in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
            return Kind.PEAK.value
        return text if term.pool is None else Kind.POOL_PEAK.value

    def _is_about(self, text: str, pool: Pool) -> bool:
        term = parse_term(text)
        return term is not None and term.pool == pool.id


class _Phases:
    """When buffers are live, by the numbers of phases: a phase begins where a begin follows an end."""

    def __init__(self, buffers: Sequence[Buffer], backwards: bool) -> None:
        lives = [merged(spans(buffer)) if buffer.size else [] for buffer in buffers]
        begins = {begin for life in lives for begin, _ in life}
        ends = {end for life in lives for _, end in life}
        phase, is_over = -1, True
        phase_at, last_before = dict[int, int](), dict[int, int]()
        for time in sorted(begins | ends):
            if time in ends:
                last_before[time], is_over = phase, True
            if time in begins:
                phase, is_over = phase + is_over, False
                phase_at[time] = phase
        self._lives: list[list[Range]] = []
        for life in lives:
            ranges = [(phase_at[begin], last_before[end] + 1) for begin, end in life]
            if backwards:
                ranges = [(phase + 1 - end, phase + 1 - begin) for begin, end in ranges]
            self._lives.append(merged(ranges))
        self._always = [buffer.lifetime == ALWAYS and buffer.size > 0 for buffer in buffers]

    def label(self, index: int) -> str:
        """When the buffer is live."""
        return ALWAYS if self._always[index] else str(self._lives[index])

    def meet(self, one: int, other: int) -> bool:
        """Whether both are live at some time."""
        if self._always[one] or self._always[other]:
            return all(self._always[index] or self._lives[index] for index in (one, other))
        fewer, more = sorted((self._lives[one], self._lives[other]), key=len)
        for begin, end in fewer:
            place = bisect_left(more, (end,)) - 1
            if place >= 0 and more[place][1] > begin:
                return True
        return False


def _problem_structure(problem: Problem, backwards: bool) -> Structure:
    buffers = problem.buffers
    index_of = {buffer.id: index for index, buffer in enumerate(buffers)}
    groups = rigid_groups(problem, index_of)
    lengths = [
        *(buffer.size for buffer in buffers),
        *(buffer.offset for buffer in buffers if buffer.offset is not None),
        *(delta for group in groups for delta in group.deltas),
    ]
    has_banks = uses_banks(problem)
    alignments = {buffer.alignment for buffer in buffers}
    memories = _Memories(problem, problem.pools, lengths, alignments, has_banks=has_banks)
    phases = _Phases(buffers, backwards)
    accesses = access_counts(problem) if counts(problem, Kind.PLACEMENT_COST) else [0] * len(buffers)
    often = gcd(*accesses) or 1

    def label(index: int) -> str:
        buffer = buffers[index]
        facts = (
            buffer.size // memories.unit,
            memories.aligned(buffer.alignment),
            None if buffer.offset is None else buffer.offset // memories.unit,
            memories.allowed(named_pools(buffer)),
            phases.label(index),
            accesses[index] // often,
            (bool(buffer.within_bank), sorted(set(buffer.banks)) if buffer.banks is not None else None)
            if has_banks and buffer.size
            else None,
        )
        return f"buffer {facts}"

    atoms = [label(index) for index in range(len(buffers))]
    ties = list(_pair_ties(problem, index_of, phases))
    for index, buffer in enumerate(buffers):
        ties += memories.ties(index, named_pools(buffer), len(atoms))
    atoms += memories.atoms
    for group in groups:
        atoms.append("group")
        for member, delta in zip(group.members, group.deltas, strict=True):
            ties.append(_Tie(f"at {delta // memories.unit}", (len(atoms) - 1, member), is_ordered=True))
    if has_banks:
        for pair, cost in bank_pairs(problem).items():
            ties.append(_Tie(f"bank {cost}", tuple(index_of[name] for name in pair)))
    return Structure(memories.frame, tuple(atoms), tuple(ties))


def _pair_ties(problem: Problem, index_of: dict[str, int], phases: _Phases) -> Iterator[_Tie]:
    """Pairs of which more must be said than when they are live."""

    def pairs(names: Iterable[tuple[str, str]]) -> set[tuple[int, int]]:
        numbers = {tuple(sorted(index_of[name] for name in pair)) for pair in names}
        sized = (pair for pair in numbers if all(problem.buffers[index].size for index in pair))
        return {(pair[0], pair[1]) for pair in sized}

    listed, apart = pairs(problem.conflicts), pairs(problem.exclusive)
    for pair in listed:
        if not phases.meet(*pair):
            yield _Tie("conflict", pair)
    for pair in apart - listed:
        if phases.meet(*pair):
            yield _Tie("exclusive", pair)
    for pair in pairs((entry.input, entry.output) for entry in problem.in_place):
        if pair in listed or (phases.meet(*pair) and pair not in apart):
            yield _Tie("in place", pair)
    if counts(problem, Kind.REUSE_COST):
        costs = Counter[tuple[int, int]]()
        for entry in problem.reuse_costs:
            for pair in pairs([entry.buffers]):
                costs[pair] += entry.cost
        common = gcd(*costs.values()) or 1
        for pair, cost in costs.items():
            if cost:
                yield _Tie(f"reuse {cost // common}", pair)


# What is left of a graph without names.


def _graph_structure(graph: Graph) -> Structure:
    every_tensor = [*graph.tensors, *(tensor for entry in graph.alternatives for tensor in entry.tensors)]
    every_operator = [*graph.operators, *(one for entry in graph.alternatives for one in entry.operators)]
    temporaries = [one for operator in every_operator for one in operator.temporaries]
    planned = [tensor for tensor in every_tensor if is_planned(tensor)]
    lengths = [
        *(size_of(tensor) for tensor in planned),
        *(one.size for one in temporaries),
        *(view.offset for view in graph.views),
    ]
    alignments = {*(one.alignment for one in planned), *(one.alignment for one in temporaries)}
    memories = _Memories(graph, graph.pools or ONE_MEMORY, lengths, alignments)
    tensor_at = {tensor.id: index for index, tensor in enumerate(every_tensor)}
    operator_at = {one.id: len(every_tensor) + index for index, one in enumerate(every_operator)}
    ends = [(set(graph.inputs), "input"), (set(graph.outputs), "output")]
    flags = {tensor.id: [flag for names, flag in ends if tensor.id in names] for tensor in every_tensor}
    keeps_order = graph.order != FREE
    atoms = [
        *(_tensor_label(tensor, flags[tensor.id], memories) for tensor in every_tensor),
        *(
            _operator_label(one, index if keeps_order and index < len(graph.operators) else None, memories)
            for index, one in enumerate(every_operator)
        ),
    ]
    ties: list[_Tie] = []

    def tie(label: str, *members: int) -> None:
        ties.append(_Tie(label, members, is_ordered=True))

    pools_at = len(atoms)
    atoms += memories.atoms
    for index, tensor in enumerate(every_tensor):
        if is_planned(tensor):
            ties += memories.ties(index, tensor.pools, pools_at)
    for operator in every_operator if memories.atoms else ():
        for temporary in operator.temporaries:
            tie("has", operator_at[operator.id], len(atoms))
            ties += memories.ties(len(atoms), temporary.pools, pools_at)
            atoms.append(_temporary_label(temporary, memories))
    for operator in every_operator:
        at = operator_at[operator.id]
        for words, names in (("reads", operator.inputs), ("makes", operator.outputs)):
            for role, name in enumerate(names):
                # Only a window is about the first input and the first output.
                tie(words if operator.window is None else f"{words} {role}", at, tensor_at[name])
        for source, output in operator.in_place:
            tie("in place", at, tensor_at[source], tensor_at[output])
    for state, writes, user in _uses_of_states(graph):
        tie(f"uses {writes}", operator_at[user], tensor_at[state])
    for first, second in graph.before:
        tie("before", operator_at[first], operator_at[second])
    for view in graph.views:
        tie(f"view at {view.offset // memories.unit}", tensor_at[view.tensor], tensor_at[view.of])
    for entry in graph.alternatives:
        atoms.append(f"alternative {entry.cost}")
        for name in entry.replaces:
            tie("replaces", len(atoms) - 1, operator_at[name])
        for place, one in enumerate(entry.operators):
            tie(f"has {place}", len(atoms) - 1, operator_at[one.id])
        for tensor in entry.tensors:
            tie("owns", len(atoms) - 1, tensor_at[tensor.id])
    limit = None if graph.limits is None else graph.limits.cost
    return Structure(f"graph {graph.order} {limit} {memories.frame}", tuple(atoms), tuple(ties))


def _uses_of_states(graph: Graph) -> Iterator[tuple[str, int, str]]:
    """Who uses a state, and how many have written it before: in this order they run, whatever others do."""
    writes = {tensor.id: 0 for tensor in graph.tensors if tensor.kind == "state"}
    for operator in graph.operators if writes else ():
        for state in writes.keys() & {*operator.inputs, *operator.outputs}:
            yield state, writes[state], operator.id
            writes[state] += state in operator.outputs


def _tensor_label(tensor: Tensor, flags: Sequence[str], memories: _Memories) -> str:
    facts: tuple[object, ...] = (tensor.kind, flags, tensor.shape, tensor.type)
    if is_planned(tensor):
        facts += (
            size_of(tensor) // memories.unit,
            memories.aligned(tensor.alignment),
            memories.allowed(tensor.pools),
        )
    return f"tensor {facts}"


def _operator_label(operator: Operator, place: int | None, memories: _Memories) -> str:
    # With several pools each is an atom.
    temporaries = [] if memories.atoms else [_temporary_label(one, memories) for one in operator.temporaries]
    return f"operator {(operator.type, operator.cost, operator.window, sorted(temporaries), place)}"


def _temporary_label(one: Temporary, memories: _Memories) -> str:
    return str(
        (one.size // memories.unit, one.phases, memories.aligned(one.alignment), memories.allowed(one.pools))
    )
