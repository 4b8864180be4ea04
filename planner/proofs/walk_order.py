"""A proof about orders in words: why no order of a graph's operators needs less.

As `walk` does for layouts: a proof that was accepted is read again, in the form of docs/proofs.md, for people
who want to see why. It has no numbers but those of operators, storages and bytes of chains, so that what is
live after a set of operators is counted again here. A set is an integer: bit v is operator v.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import Final

from memstow.planner.graph.links import links_of
from memstow.planner.graph.live_bytes import (
    in_place_triples,
    most_saved,
    resident_load,
    storages,
    temporary_height,
)
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.walk import MOST_STEPS, Step, Walk, ascending, layout_walk, numbers_of
from memstow.records import record, replace

ORDER_HEADER: Final = b"memstow order proof 1\n"
MOST_BYTES: Final = 16 << 20
"""Of a proof that is read as a whole."""
MOST_SETS: Final = 200_000
"""Of a search whose steps are told; one of more is not."""
_MOST_TRIED: Final = 500_000
"""How often it is asked what an operator needs: a second or two."""
_MOST_NAMED: Final = 6
_ENDS, _OPERATOR, _SEARCH, _SET, _FORGET, _CONCLUDE, _FIRST = range(1, 8)


class _Program:
    """The operators of a graph, or of a search in it, and the bytes that they need."""

    def __init__(self, graph: Graph) -> None:
        self.stored = storages(graph)
        self.count = len(graph.operators)
        self.extra = [max(temporary_height(operator), 0) for operator in graph.operators]
        self.base = resident_load(graph).bytes
        self.size = [one.size for one in self.stored]
        self.begins = [_set_of(one.writers) for one in self.stored]
        self.ends = [_set_of((*one.writers, *one.readers)) for one in self.stored]
        self.from_start = [one.from_start for one in self.stored]
        self.to_end = [one.to_end for one in self.stored]
        self.before, self.after = [0] * self.count, [0] * self.count
        edges = links_of(graph).edges()
        for earlier, later in zip(edges[::2], edges[1::2], strict=True):
            self.before[later] |= 1 << earlier
            self.after[earlier] |= 1 << later
        self.pairs: list[list[tuple[int, int]]] = [[] for _ in graph.operators]
        for operator, source, target in in_place_triples(graph):
            self.pairs[operator].append((source, target))
        self.all = (1 << self.count) - 1
        self._adjacent()

    def _adjacent(self) -> None:
        self.touched: list[list[int]] = [[] for _ in range(self.count)]
        for number, (begins, ends) in enumerate(zip(self.begins, self.ends, strict=True)):
            for v in _members(begins | ends):
                self.touched[v].append(number)

    def without(self, some: int) -> None:
        """Leave operators out: of the others, none needs more."""
        before = [_reached(v, self.before, some) if not some >> v & 1 else 0 for v in range(self.count)]
        begins = list[int]()
        for mask in self.begins:
            later = [_reached(v, self.after, some) for v in _members(mask & some)]
            begins.append(mask & ~some | _union(later))
        self.begins, self.ends = begins, [mask & ~some for mask in self.ends]
        self.before, self.after = before, [0] * self.count
        for v, mask in enumerate(before):
            for u in _members(mask):
                self.after[u] |= 1 << v
        for v in _members(some):
            self.pairs[v] = []
        self.all &= ~some
        self._adjacent()

    def link(self, u: int, v: int) -> None:
        """Let an operator come before another."""
        self.before[v] |= 1 << u
        self.after[u] |= 1 << v

    def turn(self) -> None:
        """From the last operator back."""
        self.before, self.after = self.after, self.before
        self.begins, self.ends = self.ends, self.begins
        self.from_start, self.to_end = self.to_end, self.from_start
        self.pairs = [[(target, source) for source, target in some] for some in self.pairs]

    def _has_begun(self, number: int, done: int) -> bool:
        return self.from_start[number] or bool(self.begins[number] & done)

    def _has_ended(self, number: int, done: int) -> bool:
        return not self.to_end[number] and not self.ends[number] & ~done

    def live(self, done: int) -> list[int]:
        """The storages that are live after these operators."""
        every = range(len(self.size))
        return [number for number in every if self._is_live(number, done)]

    def _is_live(self, number: int, done: int) -> bool:
        return self._has_begun(number, done) and not self._has_ended(number, done)

    def bytes_of(self, some: Sequence[int]) -> int:
        """What these storages have, and what is live always."""
        return self.base + sum(self.size[number] for number in some)

    def ready(self, done: int) -> Iterator[int]:
        """The operators that can run next."""
        return (v for v in _members(self.all & ~done) if not self.before[v] & ~done)

    def step(self, v: int, done: int, live: int) -> tuple[int, int]:
        """What an operator needs that runs next, and what is live after it."""
        then, begins, change = done | 1 << v, 0, 0
        for number in self.touched[v]:
            was = self._is_live(number, done)
            if not was and not self._has_begun(number, done) and not self._has_ended(number, done):
                begins += self.size[number] if self._has_begun(number, then) else 0
            change += self.size[number] * (self._is_live(number, then) - was)
        pairs = [
            (source, target)
            for source, target in self.pairs[v]
            if not self._has_ended(source, done)
            and self._has_ended(source, then)
            and not self._has_begun(target, done)
        ]
        return live + begins + self.extra[v] - most_saved(self.size, pairs), live + change


@record
class _Chain:
    """Storages of which one is live whenever an operator runs, and the bytes that are counted of these."""

    bytes: int
    pair: int | None
    """Where it begins with one: unless this saves nothing."""
    storages: tuple[int, ...]


@record
class _Way:
    """Which pairs in place may save something, as far as that was chosen, and what is counted then."""

    chosen: tuple[tuple[int, bool], ...]
    saves: int
    chains: tuple[_Chain, ...]


@record
class _Operator:
    """An operator, and what it needs in any order."""

    number: int
    always: tuple[int, ...]
    """Storages that are live whatever ran before."""
    ways: tuple[_Way, ...]
    needs: int


@record
class _First:
    """One operator comes before another: else some operator needs more than the height."""

    first: int
    then: int
    else_needs: _Operator


@record
class _DeadSet:
    """A set after which no order keeps to the height."""

    done: int
    more: int
    """The operators that may as well run next, of a commit; else none."""


@record
class _Search:
    """Sets until the empty one was among them."""

    height: int
    program: _Program
    is_backwards: bool
    left_out: int
    firsts: list[_First]
    sets: list[_DeadSet]
    last: _Operator | None = None
    """What needs too much whatever ran before, and ends the search."""


def walk_of(document: Problem | Graph, problem: Problem, path: "str | os.PathLike[str]") -> Walk | None:
    """The steps of a proof that was accepted, about layouts or orders; None where it is too long to be read.

    `problem` is what is drawn of the document: steps name its buffers.
    """
    with open(path, "rb") as file:
        return walk_in(document, problem, file.read(MOST_BYTES + 1))


def walk_in(document: Problem | Graph, problem: Problem, data: bytes) -> Walk | None:
    """The same, of the bytes of the file."""
    if len(data) > MOST_BYTES:
        return None
    if isinstance(document, Problem):
        return layout_walk(problem, data)
    return _order_walk(document, problem, data)


def _order_walk(graph: Graph, problem: Problem, data: bytes) -> Walk | None:
    reader = _Reader(graph, numbers_of(data, ORDER_HEADER))
    reader.read()
    words = _Words(graph, problem, reader.program)
    match reader.strongest:
        case None:
            return None
        case _Operator() as operator:
            return words.operator(operator)
        case _Search() as search:
            return words.search(search)
        case int() as height:
            return words.ends(height)


class _Reader:
    """The steps of a proof; what has the strongest conclusion is kept."""

    def __init__(self, graph: Graph, numbers: Iterator[int]) -> None:
        self._graph, self._numbers = graph, numbers
        self.program = _Program(graph)
        self.strongest: int | _Operator | _Search | None = None
        """A height: what is there before the first operator or after the last is more."""
        self._height = -1

    def read(self) -> None:
        """All steps."""
        numbers, search, done = self._numbers, None, 0
        for kind in numbers:
            if kind == _ENDS:
                at_ends = (self.program.from_start, self.program.to_end)
                sums = (self.program.bytes_of(_marked(marks)) for marks in at_ends)
                height = max(sums) - 1
                self._conclude(height, height)
            elif kind == _OPERATOR:
                operator = self._read_operator(self.program if search is None else search.program)
                if search is None:
                    self._conclude(operator.needs - 1, operator)
                else:
                    self._conclude(min(operator.needs - 1, search.height), replace(search, last=operator))
            elif kind == _FIRST and search is not None:
                search, done = self._read_first(search), 0
            elif kind == _SEARCH:
                search, done = self._new_search(), 0
            elif kind == _SET and search is not None:
                done ^= _set_of(ascending(numbers))
                more = _set_of(ascending(numbers)) if next(numbers) else 0
                if more:
                    self._chains()
                search.sets.append(_DeadSet(done, more))
                if len(search.sets) > MOST_SETS:
                    return
            elif kind == _FORGET:
                for _ in range(next(numbers)):
                    next(numbers)
            elif kind == _CONCLUDE and search is not None:
                self._conclude(search.height, search)
            else:
                return

    def _conclude(self, height: int, by: "int | _Operator | _Search") -> None:
        if height > self._height:
            self._height, self.strongest = height, by

    def _new_search(self) -> _Search:
        height, is_backwards = next(self._numbers), bool(next(self._numbers))
        left_out = _set_of(ascending(self._numbers))
        program = _Program(self._graph)
        if left_out:
            program.without(left_out)
        if is_backwards:
            program.turn()
        return _Search(height, program, is_backwards, left_out, [], [])

    def _read_first(self, search: _Search) -> _Search:
        u, v = next(self._numbers), next(self._numbers)
        program, other_way = copy(search.program), copy(search.program)
        for one in (program, other_way):
            one.before, one.after = [*one.before], [*one.after]
        other_way.link(v, u)
        first = _First(u, v, self._read_operator(other_way))
        program.link(u, v)
        return replace(search, program=program, firsts=[*search.firsts, first], sets=[])

    def _chains(self) -> tuple[_Chain, ...]:
        numbers, chains = self._numbers, list[_Chain]()
        for _ in range(next(numbers)):
            size, start = next(numbers), next(numbers)
            some = tuple(islice(numbers, next(numbers)))
            chains.append(_Chain(size, start - 1 if start else None, some))
        return tuple(chains)

    def _read_operator(self, program: _Program) -> _Operator:
        v = next(self._numbers)
        always = _always_live(program, v)
        later = _reached(v, program.after) | 1 << v
        pairs = program.pairs[v]
        open_pairs = [
            number
            for number, (source, _) in enumerate(pairs)
            if not program.to_end[source] and not program.ends[source] & later & ~(1 << v)
        ]
        least = program.bytes_of(always) + program.extra[v]
        ways = list[_Way]()
        needs = list[int]()
        waiting: list[tuple[list[int], tuple[tuple[int, bool], ...]]] = [(open_pairs, ())]
        while waiting:
            left, chosen = waiting.pop()
            if next(self._numbers):
                pair = next(self._numbers)
                source, target = pairs[pair]
                apart = [k for k in left if k == pair or (pairs[k][0] != source and pairs[k][1] != target)]
                waiting.append((apart, (*chosen, (pair, True))))
                waiting.append(([k for k in left if k != pair], (*chosen, (pair, False))))
                continue
            chains = self._chains()
            granted = dict[int, int]()
            for k in left:
                source, target = pairs[k]
                one = min(program.size[source], program.size[target])
                granted[target] = max(granted.get(target, 0), one)
            saves = sum(granted.values())
            needs.append(least - saves + sum(chain.bytes for chain in chains))
            ways.append(_Way(chosen, saves, chains))
        return _Operator(v, tuple(always), tuple(ways), min(needs))


def _always_live(program: _Program, v: int) -> list[int]:
    """The storages that are live while an operator runs, whatever ran before it."""
    earlier, later = (_reached(v, links) | 1 << v for links in (program.before, program.after))
    return [
        number
        for number in range(len(program.size))
        if (program.from_start[number] or program.begins[number] & earlier)
        and (program.to_end[number] or program.ends[number] & later)
    ]


class _Tries:
    """What operators need that come next, and which of the sets of a search they lead to."""

    def __init__(self, search: _Search, number_of: dict[int, int]) -> None:
        self._program, self._height, self._number_of = search.program, search.height, number_of
        self.left = _MOST_TRIED
        """How many more may be tried; what is begun is ended."""

    def next_of(self, done: int) -> list[tuple[int, int]]:
        """The operators that can come next, and what each needs."""
        live = self._program.bytes_of(self._program.live(done))
        return [(v, self._program.step(v, done, live)[0]) for v in self._program.ready(done)]

    def settled(self, done: int) -> int:
        """The number of the set that this one settles to."""
        program, changed = self._program, True
        live = program.bytes_of(program.live(done))
        while changed:
            changed = False
            for v in program.ready(done):
                self.left -= 1
                needs, leaves = program.step(v, done, live)
                if leaves <= live and needs <= self._height:
                    done, live, changed = done | 1 << v, leaves, True
        return self._number_of[done]


class _Words:
    """What steps say."""

    def __init__(self, graph: Graph, problem: Problem, program: _Program) -> None:
        self._graph, self._program = graph, program
        index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
        tensors = [graph.tensors[one.tensor].id for one in program.stored]
        self._buffer_of = [index_of.get(name) for name in tensors]
        self._name_of = tensors

    def ends(self, height: int) -> Walk:
        """What is there before the first operator, or after the last."""
        program = self._program
        begin, end = _marked(program.from_start), _marked(program.to_end)
        is_first = program.bytes_of(begin) > height
        when = "before the first operator" if is_first else "after the last operator"
        text = f"No order needs less than {height + 1:,} bytes: that much is live {when}."
        return Walk((Step(text, self._buffers(begin if is_first else end)),), 0)

    def operator(self, operator: _Operator) -> Walk:
        """What an operator needs in any order."""
        name = self._graph.operators[operator.number].id
        text = f"No order needs less than {operator.needs:,} bytes: {name} needs them whenever it runs."
        return _walk_of(list(self._needs(operator, text)))

    def _needs(self, operator: _Operator, text: str) -> Iterator[Step]:
        least = self._program.bytes_of(operator.always) + self._program.extra[operator.number]
        why = f"What has begun by then and is used later, and its temporaries, have {least:,}."
        yield Step(f"{text} {why}", self._buffers(operator.always))
        for way in operator.ways:
            if way.chosen or way.chains or way.saves:
                yield from self._way(operator.number, way)

    def _orderings(self, search: _Search, last: _Operator) -> Walk:
        """What must come first, and the operator that needs too much then."""
        notes, height = self._notes(search), min(search.height, last.needs - 1)
        name = self._graph.operators[last.number].id
        text = (
            f"No order keeps to {height:,} bytes, by what must come first{notes}: as it is below, "
            f"{name} needs {last.needs:,} bytes whenever it runs."
        )
        steps = list(self._needs(last, text))
        for one in search.firsts:
            first, then = (self._graph.operators[v].id for v in (one.first, one.then))
            needy, needs = self._graph.operators[one.else_needs.number].id, one.else_needs.needs
            text = f"{first} comes before {then}: else {needy} needs {needs:,} bytes."
            steps.append(Step(text, self._buffers(one.else_needs.always)))
        return _walk_of(steps)

    def _way(self, v: int, way: _Way) -> Iterator[Step]:
        conditions = list[str]()
        for pair, is_open in way.chosen:
            source, target = (self._name_of[number] for number in self._program.pairs[v][pair])
            conditions.append(f"{target} {'may lie' if is_open else 'does not lie'} on {source}")
        parts = [f"pairs in place save {_counted(way.saves, 'byte')} at most"] if way.saves else []
        if way.chains:
            chained = sum(chain.bytes for chain in way.chains)
            adds = "a chain adds" if len(way.chains) == 1 else f"{len(way.chains):,} chains add"
            parts.append(f"{adds} {_counted(chained, 'byte')}")
        what = " and ".join(parts) or "nothing is saved in place"
        where = f"If {' and '.join(conditions)}, " if conditions else ""
        yield Step(f"{where}{what}." if where else f"{what[0].upper()}{what[1:]}.", ())
        for chain in way.chains:
            some = _listed([self._name_of[number] for number in chain.storages], "or")
            which = "which is" if len(chain.storages) == 1 else "of which one is"
            saving = "" if chain.pair is None else ", or a pair in place does not save them"
            text = f"Chain of {_counted(chain.bytes, 'byte')}: {some}, {which} live whenever it runs{saving}."
            yield Step(text, self._buffers(chain.storages))

    def search(self, search: _Search) -> Walk:
        """The sets of a search, from the one on that it begins with."""
        if search.last is not None:
            return self._orderings(search, search.last)
        number_of = dict[int, int]()
        for number, dead in enumerate(search.sets):
            number_of.setdefault(dead.done, number)
        tries = _Tries(search, number_of)
        start = tries.settled(0)
        notes = self._notes(search)
        first = (
            f"No order keeps to {search.height:,} bytes: a search{notes} ran dry. From none of "
            f"{_counted(len(search.sets), 'set')} of operators does a way lead to the end; set {start:,} is "
            "the first."
        )
        steps, waiting, seen = [Step(first, ())], deque([start]), {start}
        while waiting and len(steps) < MOST_STEPS and tries.left > 0:
            number = waiting.popleft()
            step, following = self._dead_set(search, number, tries)
            steps.append(step)
            waiting += [one for one in dict.fromkeys(following) if one not in seen]
            seen.update(following)
        return Walk(tuple(steps), len(search.sets) + 1 - len(steps))

    def _notes(self, search: _Search) -> str:
        notes = " from the last operator back" if search.is_backwards else ""
        if search.left_out:
            notes += f" without {self._operators(search.left_out)} (so no other needs more)"
        return notes

    def _dead_set(self, search: _Search, number: int, tries: "_Tries") -> tuple[Step, list[int]]:
        """Why no way leads on from a set, and the sets that follow."""
        dead, program = search.sets[number], search.program
        live = program.live(dead.done)
        at, of = ("end", "before") if search.is_backwards else ("start", "after")
        where = f"{of} {self._operators(dead.done)}" if dead.done else f"at the {at}"
        text = f"Set {number:,}: {where}, {program.bytes_of(live):,} bytes are live. "
        if dead.more:
            following = [tries.settled(dead.done | dead.more)]
            text += (
                f"{self._operators(dead.more)} may as well come next, since no set on the way there has "
                f"fewer live bytes: that is set {following[0]:,}."
            )
            return Step(text, self._buffers(live)), following
        too_much, leads = list[str](), list[tuple[str, int]]()
        for v, needs in tries.next_of(dead.done):
            name = self._graph.operators[v].id
            if needs > search.height:
                too_much.append(f"{name} needs {needs:,}")
            else:
                leads.append((name, tries.settled(dead.done | 1 << v)))
        parts = [_listed(too_much, "and")] if too_much else []
        if leads:
            parts.append(_listed([f"{name} leads to set {one:,}" for name, one in leads], "and"))
        text += f"Next, {'; '.join(parts)}." if parts else "Nothing can come next."
        return Step(text, self._buffers(live)), [one for _, one in leads]

    def _operators(self, some: int) -> str:
        return _listed([self._graph.operators[v].id for v in _members(some)], "and")

    def _buffers(self, some: Sequence[int]) -> tuple[int, ...]:
        places = (self._buffer_of[number] for number in some)
        return tuple(sorted({index for index in places if index is not None}))


def _walk_of(steps: list[Step]) -> Walk:
    return Walk(tuple(steps[:MOST_STEPS]), max(len(steps) - MOST_STEPS, 0))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _listed(words: Sequence[str], last: str) -> str:
    """Some in a row, and how many more there are."""
    shown = list(words[:_MOST_NAMED])
    if len(words) > _MOST_NAMED:
        shown.append(f"{len(words) - _MOST_NAMED:,} more")
        last = "and"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def _marked(marks: Sequence[bool]) -> list[int]:
    return [number for number, mark in enumerate(marks) if mark]


def _set_of(operators: Iterable[int]) -> int:
    done = 0
    for v in operators:
        done |= 1 << v
    return done


def _union(masks: Sequence[int]) -> int:
    done = 0
    for mask in masks:
        done |= mask
    return done


def _members(done: int) -> Iterator[int]:
    """The operators of a set, ascending."""
    while done:
        lowest = done & -done
        yield lowest.bit_length() - 1
        done ^= lowest


def _reached(v: int, links: Sequence[int], through: int = -1) -> int:
    """What links lead to by way of some operators, without these; by way of any, all that they lead to."""
    seen, stack = 0, [v]
    while stack:
        fresh = links[stack.pop()] & ~seen
        seen |= fresh
        stack += _members(fresh & through)
    return seen if through == -1 else seen & ~through
