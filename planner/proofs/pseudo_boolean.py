"""A problem as pseudo-Boolean constraints, and a proof for VeriPB that they contradict each other.

For problems of few units: each offset that a buffer may have is a variable, which says whether the buffer is
there or above, and each pair that conflicts has one that says which of the two is below. All that is derived
from bounds and orders is then unit propagation; only that buffers do not fit into a stretch takes sums, of
the constraints that say of each unit that one buffer at most is on it.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import gcd
from typing import Final, TextIO

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import LIMIT, Problem, Range, end_of, rigid_groups
from memstow.planner.proofs.proof_file import draft_of, take_place
from memstow.planner.proofs.prove import begins_with_peak, read_provable
from memstow.planner.proofs.questions import Space, conflicts_of, may_leave_the_capacities, moments_of, up_to
from memstow.records import record
from memstow.solvers.core import Budget

MOST_PLACES: Final = 100_000
"""Offsets of all buffers together; more are too many for VeriPB."""
_MOST_CLAUSES: Final = 1_000_000


@record
class PseudoBooleanProof:
    """What was written: no plan has a peak below the bound."""

    bound: int
    variables: int
    constraints: int
    steps: int


def write_pseudo_boolean(
    document: bytes,
    plan: Plan,
    opb: "str | os.PathLike[str]",
    pbp: "str | os.PathLike[str]",
    time_limit: float = 10.0,
) -> PseudoBooleanProof | None:
    """Write a pseudo-Boolean problem whose solutions are better plans, and for VeriPB why it has none.

    `document` is the file of the problem, in JSON. None, and no file, where nothing was shown within the
    seconds. Raises InputError for a problem that has no proofs, or too many offsets.
    """
    problem = read_provable(document)
    return refute_within(problem, plan, os.fspath(opb), os.fspath(pbp), Budget(time_limit, -1))


def refute_within(
    problem: Problem, plan: Plan, opb: str, pbp: str, budget: Budget
) -> PseudoBooleanProof | None:
    """The same of a problem that `why_not` has no objection to, within the budget."""
    height = _height_to_refute(problem, plan)
    if height is None:
        return None
    encoding = Encoding(problem, height)
    with ExitStack() as drafted:
        drafts = [drafted.enter_context(draft_of(path)) for path in (opb, pbp)]
        with ExitStack() as files:
            of_problem, of_proof = (files.enter_context(open(path, "w", encoding="ascii")) for path in drafts)
            constraints = encoding.write(of_problem)
            steps = _Refutation(encoding, _Steps(of_proof, constraints), budget).run()
        if steps is None:
            return None
        for draft, path in zip(drafts, (opb, pbp), strict=True):
            take_place(draft, path)
    return PseudoBooleanProof(height + 1, encoding.variables, constraints, steps)


def _height_to_refute(problem: Problem, plan: Plan) -> int | None:
    """The greatest peak that no layout may have; None where the plan says nothing of that."""
    if plan.status is Status.INFEASIBLE:
        return max(map(end_of, problem.pools))
    if plan.status not in PLANNED or not begins_with_peak(problem) or plan.objective[0].bound == 0:
        return None
    return plan.objective[0].bound - 1


class Encoding:
    """The variables, and the constraints among them.

    A literal is the number of a variable, negative where it is negated. `True` and `False` are constants.
    """

    def __init__(self, problem: Problem, height: int) -> None:
        space = Space(problem, up_to(problem, height))
        self.height = min(height, max(map(end_of, problem.pools)))
        self.end = space.end
        # Of several pools, one without a capacity has room for all that may be there.
        has_room = height == LIMIT and len(problem.pools) > 1
        kept = [
            index
            for index, buffer in enumerate(problem.buffers)
            if buffer.size and not (has_room and may_leave_the_capacities(problem, buffer))
        ]
        self.buffers = [problem.buffers[index] for index in kept]
        self.sizes = [buffer.size for buffer in self.buffers]
        self.reserved = space.reserved
        grids = [space.place(buffer) for buffer in self.buffers]
        self.places = list[list[int]]()
        """By buffer, the offsets that it may have, ascending. Those of a rigid group have as many each."""
        left = MOST_PLACES
        for buffer, (modulus, residue, pin) in zip(self.buffers, grids, strict=True):
            if pin < 0 and (self.end - buffer.size) // modulus > left:
                raise InputError.single(
                    "too_many_offsets",
                    "$",
                    f"the buffers may have more than {MOST_PLACES:,} offsets, too many for VeriPB: "
                    "it is for problems of few units",
                )
            barred = space.barred(space.pools_of(buffer))
            self.places.append(_allowed(buffer.size, modulus, residue, pin, barred, self.end))
            left -= len(self.places[-1])
        self.leader = list(range(len(self.buffers)))
        """By buffer, the first of its rigid group, whose variables it has as well; else itself."""
        self._tie(problem, {index: i for i, index in enumerate(kept)}, space)
        self.unit = gcd(
            *self.sizes, *(number for each in grids for number in each[:2]), *(p[0] for p in self.places if p)
        )
        self.first = list[int]()
        """By buffer, the variable before that of its second place."""
        variables = 0
        for i, allowed in enumerate(self.places):
            if self.leader[i] != i:
                self.first.append(self.first[self.leader[i]])
                continue
            self.first.append(variables)
            variables += max(len(allowed) - 1, 0)
        pairs = conflicts_of(problem, self.buffers)
        self.pairs = [(i, j) for i, j in pairs if self.leader[i] != self.leader[j]]
        self.below = {pair: variables + number for number, pair in enumerate(self.pairs, 1)}
        self.variables = variables + len(self.pairs)
        self.moments = moments_of(self.buffers)

    def _tie(self, problem: Problem, at: dict[int, int], space: Space) -> None:
        """Leave those in a rigid group the places where all of it fit into one pool."""
        index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
        for group in rigid_groups(problem, index_of) if problem.relative else ():
            members = [
                (at[index], by) for index, by in zip(group.members, group.deltas, strict=True) if index in at
            ]
            common = set[tuple[int, int]]()
            for number, (i, by) in enumerate(members):
                lowest = {(space.pool_at(offset), offset - by) for offset in self.places[i]}
                common = common & lowest if number else lowest
            places = sorted(offset for _, offset in common)
            for i, by in members:
                self.places[i] = [offset + by for offset in places]
                self.leader[i] = members[0][0]

    def from_there(self, i: int, offset: int) -> int:
        """The index of the first place of buffer i from this offset on, or the number of its places."""
        return bisect_left(self.places[i], offset)

    def write(self, file: TextIO) -> int:
        """Write the problem; how many constraints it has."""
        clauses = list(self._clauses())
        file.write(f"* #variable= {max(self.variables, 1)} #constraint= {len(clauses)}\n")
        file.write(f"* Solutions are layouts with a peak of at most {self.height}, as docs/proofs.md says.\n")
        for i, allowed in enumerate(self.places):
            for k, offset in enumerate(allowed[1:], 1):
                file.write(f"* x{self.first[i] + k}: buffer {i} at {offset} or above\n")
        for (i, j), number in self.below.items():
            file.write(f"* x{number}: buffer {i} below {j}\n")
        for clause in clauses:
            terms = " ".join(f"+1 x{literal}" if literal > 0 else f"-1 x{-literal}" for literal in clause)
            degree = 1 - sum(literal < 0 for literal in clause)
            file.write(f"{terms} >= {degree} ;\n" if clause else "+1 x1 >= 2 ;\n")
        return len(clauses)

    def _clauses(self) -> Iterator[list[int]]:
        written = 0
        for i, allowed in enumerate(self.places):
            if not allowed:
                yield []
            if self.leader[i] == i:
                for number in range(self.first[i] + 1, self.first[i] + len(allowed) - 1):
                    yield [number, -number - 1]
        for (i, j), number in self.below.items():
            for clause in (*self._order(number, i, j), *self._order(-number, j, i)):
                written += 1
                if written > _MOST_CLAUSES:
                    raise InputError.single(
                        "too_many_offsets",
                        "$",
                        f"it takes more than {_MOST_CLAUSES:,} constraints, too many for VeriPB",
                    )
                yield clause

    def _order(self, order: int, lower: int, upper: int) -> Iterator[list[int]]:
        """If the order holds, the upper buffer is at or above the end of the lower one, wherever that is."""
        before, nowhere = 0, len(self.places[upper])
        for index, offset in enumerate(self.places[lower]):
            there = self.from_there(upper, offset + self.sizes[lower])
            if there > before:  # Else the clause before says more.
                here = [] if index == 0 else [-self.first[lower] - index]
                yield [-order, *here, *([] if there == nowhere else [self.first[upper] + there])]
            before = there
            if there == nowhere:
                return


def _allowed(size: int, modulus: int, residue: int, pin: int, barred: Sequence[Range], end: int) -> list[int]:
    """The offsets that a buffer may have, ascending."""
    offsets: Iterable[int] = range(residue, end - size + 1, modulus) if pin < 0 else (pin,)
    return [
        offset
        for offset in offsets
        if offset + size <= end
        and (pin < 0 or offset % modulus == residue)
        and not any(first < offset + size and offset < last for first, last in barred)
    ]


class _Steps:
    """The file of the proof; constraints have the numbers that VeriPB gives them."""

    def __init__(self, file: TextIO, loaded: int) -> None:
        self._file = file
        self.last = loaded
        self.count = 0
        file.write(f"pseudo-Boolean proof version 1.1\nf {loaded}\n")

    def clause(self, literals: Iterable[int]) -> int:
        """A clause that follows by unit propagation."""
        terms = "".join(f"1 {_name(literal)} " for literal in literals)
        return self._add(f"rup {terms}>= 1 ;")

    def sum(self, terms: str) -> int:
        """What an expression in reverse Polish notation comes to."""
        return self._add(f"pol {terms}")

    def contradiction(self, which: int) -> None:
        """The end."""
        self._file.write(f"c {which}\n")

    def _add(self, line: str) -> int:
        self._file.write(f"{line}\n")
        self.last += 1
        self.count += 1
        return self.last


def _name(literal: int) -> str:
    return f"x{literal}" if literal > 0 else f"~x{-literal}"


@dataclass(slots=True)
class _State:
    """Ranges as indices of places, orders as 1 (as the pair is), -1 or 0, and the decisions behind each."""

    low: list[int]
    high: list[int]
    order: list[int]
    why_low: list[int]
    why_high: list[int]
    why_order: list[int]

    def copy(self) -> "_State":
        """The same, to change."""
        lists = (self.low, self.high, self.order, self.why_low, self.why_high, self.why_order)
        return _State(*(list(each) for each in lists))


class _Conflict(Exception):  # noqa: N818
    """No layout has these decisions, as bits of their levels."""

    def __init__(self, why: int) -> None:
        super().__init__()
        self.why = why


class _Refutation:
    """Decides which of two buffers is below until nothing fits; decisions that had no part are left out."""

    def __init__(self, encoding: Encoding, steps: _Steps, budget: Budget) -> None:
        self._encoding = encoding
        self._steps = steps
        self._budget = budget
        self._pairs = encoding.pairs
        self._leader = encoding.leader
        self._of = list[list[int]]([] for _ in encoding.buffers)
        """By buffer that leads: the pairs of all that it leads."""
        for number, pair in enumerate(self._pairs):
            for i in pair:
                self._of[self._leader[i]].append(number)
        self._weights = [1.0] * len(self._pairs)
        self._bump = 1.0
        self._decided = list[int]()
        """By level, the literal."""
        self._apart = dict[tuple[int, int, int], int]()
        self._alone = dict[tuple[tuple[int, ...], int], int]()
        self._rows = dict[tuple[tuple[int, ...], int, int], int]()
        self._cliques = _cliques(encoding.moments, set(self._pairs))

    def run(self) -> int | None:
        """The steps of the proof; None where there is a layout, or no time is left."""
        encoding = self._encoding
        if not all(encoding.places):
            self._steps.contradiction(self._steps.clause(()))
            return self._steps.count
        count = len(encoding.buffers)
        high = [len(allowed) - 1 for allowed in encoding.places]
        none = [0] * len(self._pairs)
        root = _State([0] * count, high, list(none), [0] * count, [0] * count, list(none))
        saved = list[tuple[_State, int]]()
        state, changed = root, set(range(count))
        while True:
            self._budget.count(1 + len(self._pairs))
            if self._budget.spent:
                return None
            try:
                self._propagate(state, changed)
                pair = self._choose(state)
            except _Conflict as conflict:
                why = conflict.why
                clause = self._steps.clause(-self._decided[level] for level in _bits(why))
                if not why:
                    self._steps.contradiction(clause)
                    return self._steps.count
                level = why.bit_length() - 1
                self._learn(saved, why)
                state, pair = saved[level]
                del saved[level:]
                literal = -self._decided[level]
                del self._decided[level:]
                changed = self._decide(state, pair, literal, why & ~(1 << level))
                continue
            if pair is None:
                return None
            saved.append((state.copy(), pair))
            literal = self._encoding.below[self._pairs[pair]]
            if self._room(state, *self._pairs[pair]) < self._room(state, *reversed(self._pairs[pair])):
                literal = -literal
            self._decided.append(literal)
            changed = self._decide(state, pair, literal, 1 << (len(self._decided) - 1))

    def _decide(self, state: _State, pair: int, literal: int, why: int) -> set[int]:
        state.order[pair] = 1 if literal > 0 else -1
        state.why_order[pair] = why
        return {self._leader[i] for i in self._pairs[pair]}

    def _learn(self, saved: Sequence[tuple[_State, int]], why: int) -> None:
        for level in _bits(why):
            self._weights[saved[level][1]] += self._bump
        self._bump *= 1.05
        if self._bump > 1e100:
            self._weights = [weight / self._bump for weight in self._weights]
            self._bump = 1.0

    def _room(self, state: _State, lower: int, upper: int) -> int:
        """How far the two may move if they lie so."""
        places, leader = self._encoding.places, self._leader
        highest = places[upper][state.high[leader[upper]]]
        return highest - places[lower][state.low[leader[lower]]] - self._encoding.sizes[lower]

    def _choose(self, state: _State) -> int | None:
        """The pair to decide next; None if all are."""
        best, best_score = None, -1.0
        for pair, order in enumerate(state.order):
            if order:
                continue
            i, j = self._pairs[pair]
            rooms = self._room(state, i, j), self._room(state, j, i)
            score = self._weights[pair] / (1 + min(rooms) / self._encoding.unit)
            if score > best_score:
                best, best_score = pair, score
        return best

    def _propagate(self, state: _State, changed: set[int]) -> None:
        """All that follows; raises _Conflict where that is that nothing fits."""
        while changed:
            for pair in self._of[changed.pop()]:
                i, j = self._pairs[pair]
                if state.order[pair] == 0:
                    self._order_of(state, pair, i, j)
                if state.order[pair]:
                    lower, upper = (i, j) if state.order[pair] > 0 else (j, i)
                    changed |= self._stack(state, state.why_order[pair], lower, upper)
        self._check_rows(state)

    def _order_of(self, state: _State, pair: int, i: int, j: int) -> None:
        """The order of two, if only one is possible."""
        whys = list[int]()
        for lower, upper in ((i, j), (j, i)):
            fits = self._room(state, lower, upper) >= 0
            why = state.why_low[self._leader[lower]] | state.why_high[self._leader[upper]]
            whys.append(-1 if fits else why)
        if min(whys) >= 0:
            raise _Conflict(whys[0] | whys[1])
        if max(whys) >= 0:
            state.order[pair] = -1 if whys[0] >= 0 else 1
            state.why_order[pair] = max(whys)

    def _stack(self, state: _State, why: int, lower: int, upper: int) -> set[int]:
        """What an order means to the ranges of the two."""
        places, size = self._encoding.places, self._encoding.sizes[lower]
        below, above = self._leader[lower], self._leader[upper]
        changed = set[int]()
        low = bisect_left(places[upper], places[lower][state.low[below]] + size)
        if low > state.low[above]:
            reason = why | state.why_low[below]
            if low > state.high[above]:
                raise _Conflict(reason | state.why_high[above])
            state.low[above], state.why_low[above] = low, reason
            changed.add(above)
        high = bisect_right(places[lower], places[upper][state.high[above]] - size) - 1
        if high < state.high[below]:
            reason = why | state.why_high[above]
            if high < state.low[below]:
                raise _Conflict(reason | state.why_low[below])
            state.high[below], state.why_high[below] = high, reason
            changed.add(below)
        return changed

    def _check_rows(self, state: _State) -> None:
        """Raise _Conflict where buffers that conflict pairwise do not fit into a stretch."""
        places, sizes, leader = self._encoding.places, self._encoding.sizes, self._leader
        for clique in self._cliques:
            ranges = [
                (places[i][state.low[leader[i]]], places[i][state.high[leader[i]]] + sizes[i], i)
                for i in clique
            ]
            ranges.sort(key=lambda entry: entry[1])
            for begin in sorted({entry[0] for entry in ranges}):
                used = 0
                for at, (low, end, i) in enumerate(ranges):
                    if low < begin:
                        continue
                    used += sizes[i]
                    if used > end - begin - self._taken(begin, end):
                        inside = [one for one in ranges[: at + 1] if one[0] >= begin]
                        self._overfull(state, begin, end, [one[2] for one in inside])

    def _taken(self, begin: int, end: int) -> int:
        """The bytes of a stretch of whole units that no buffer can have."""
        unit, taken, after = self._encoding.unit, 0, begin
        for first, last in self._encoding.reserved:
            low, high = max(first // unit * unit, after), min(-(-last // unit) * unit, end)
            taken += max(high - low, 0)
            after = max(after, high)
        return taken

    def _overfull(self, state: _State, begin: int, end: int, inside: list[int]) -> None:
        sizes = self._encoding.sizes
        reasons = [state.why_low[i] | state.why_high[i] for i in self._leader]
        spare = sum(sizes[i] for i in inside) - (end - begin - self._taken(begin, end))
        for i in sorted(inside, key=lambda i: -reasons[i].bit_count()):
            if sizes[i] < spare:
                spare -= sizes[i]
                inside.remove(i)
        chosen = tuple(sorted(inside))
        if (chosen, begin, end) not in self._rows:
            self._rows[chosen, begin, end] = self._row(chosen, begin, end)
        why = 0
        for i in chosen:
            why |= reasons[i]
        raise _Conflict(why)

    def _row(self, chosen: tuple[int, ...], begin: int, end: int) -> int:
        """The sum over the units of a stretch that one of these buffers at most is on each."""
        parts = list[str]()
        for cell in range(begin, end, self._encoding.unit):
            there = tuple(i for i in chosen if self._covers(i, cell) is not None)
            if len(there) == 1:
                literals = self._covers(there[0], cell)
                parts += [_name(literal) for literal in literals or ()]
            elif there:
                parts.append(str(self._at_most_one(there, cell)))
        return self._steps.sum(" ".join([parts[0], *(f"{part} +" for part in parts[1:])]))

    def _covers(self, i: int, cell: int) -> list[int] | None:
        """Literals of which one holds if the buffer is not on the unit; None if it cannot be there."""
        encoding = self._encoding
        from_there = encoding.from_there(i, cell - encoding.sizes[i] + 1)
        beyond = encoding.from_there(i, cell + 1)
        if from_there == beyond:
            return None
        first = encoding.first[i]
        below = [] if from_there == 0 else [-first - from_there]
        return below if beyond == len(encoding.places[i]) else [*below, first + beyond]

    def _at_most_one(self, there: tuple[int, ...], cell: int) -> int:
        """The constraint that one of these at most is on a unit: from one buffer to the next."""
        if len(there) == 2:
            return self._two_apart(*there, cell)
        known = self._alone.get((there, cell))
        if known is None:
            *others, last = there
            before, count = self._at_most_one(tuple(others), cell), len(others)
            pairs = (self._two_apart(i, last, cell) for i in others)
            # count - 1 times the first, and each pair: count times all literals, at least count^2 - count + 1
            scaled = f"{before} {count - 1} *" if count > 2 else str(before)
            known = self._steps.sum(f"{scaled} {' '.join(f'{pair} +' for pair in pairs)} {count} d")
            self._alone[there, cell] = known
        return known

    def _two_apart(self, i: int, j: int, cell: int) -> int:
        """The clause that one of two is not on a unit."""
        known = self._apart.get((i, j, cell))
        if known is None:
            literals = [*(self._covers(i, cell) or ()), *(self._covers(j, cell) or ())]
            known = self._apart[i, j, cell] = self._steps.clause(literals)
        return known


def _bits(mask: int) -> Iterator[int]:
    """The levels in a set of decisions, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _cliques(moments: Iterable[Sequence[int]], pairs: "set[tuple[int, int]]") -> list[list[int]]:
    """Sets of buffers that conflict pairwise: of each moment the first that there is."""
    cliques = list[list[int]]()
    for moment in moments:
        clique = list[int]()
        for i in moment:
            if all((other, i) in pairs for other in clique):
                clique.append(i)
        cliques.append(clique)
    return cliques
