#!/usr/bin/env python3
"""A second checker, slow and simple: check_order.py GRAPH PLAN PROOF. Written from docs/proofs.md alone.

Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).

Exit codes are those of memstow-check-order. It needs Python 3.11 and shares nothing with memstow or that.
Sets of operators are numbers with a bit for each.
"""

import json
import sys
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from itertools import combinations, pairwise
from math import lcm, prod
from pathlib import Path

LIMIT = 1 << 62
HEAD = b"memstow order proof 1\n"
BITS = {
    **dict.fromkeys(("int2", "uint2"), 2),
    **dict.fromkeys(("int4", "uint4", "float4"), 4),
    **dict.fromkeys(("bool", "int8", "uint8", "float8"), 8),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 16),
    **dict.fromkeys(("int32", "uint32", "float32"), 32),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 64),
    "complex128": 128,
}


class WrongError(Exception):
    """The plan or the proof is wrong."""


class NotCheckedError(Exception):
    """Something is here that this program does not know."""


def require(truth: bool, why: str) -> None:
    """What a proof or a plan must satisfy."""
    if not truth:
        raise WrongError(why)


def know(truth: bool, why: str) -> None:
    """What a graph must be for this program to say anything."""
    if not truth:
        raise NotCheckedError(why)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    know(len({key for key, _ in pairs}) == len(pairs), "a key twice")
    return dict(pairs)


def _constant(name: str) -> object:
    raise NotCheckedError(f"{name} is no JSON")


def read_json(data: bytes) -> object:
    """A document, strictly."""
    try:
        document: object = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_constant
        )
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise NotCheckedError(f"no JSON: {error}") from None
    return document


def fields(value: object, known: str) -> dict[str, object]:
    """The fields of an object, which are all known."""
    if not isinstance(value, dict):
        raise NotCheckedError("no object")
    for key in value:
        know(key in known.split(), f"the field {key!r} is unknown")
    return value


def items(value: object) -> list[object]:
    """The items of a list."""
    if not isinstance(value, list):
        raise NotCheckedError("no list")
    return value


def two(value: object) -> list[object]:
    """The items of a pair."""
    pair = items(value)
    know(len(pair) == 2, "no pair")
    return pair


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise NotCheckedError("no text")
    return value


def number(value: object, least: int = 0) -> int:
    """An integer up to the limit."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LIMIT:
        raise NotCheckedError(f"no number from {least} to 2^62")
    return value


def members(some: int) -> Iterator[int]:
    """The operators of a set, ascending."""
    while some:
        yield (some & -some).bit_length() - 1
        some &= some - 1


def set_of(some: Iterable[int]) -> int:
    """The set of these operators."""
    result = 0
    for one in some:
        result |= 1 << one
    return result


@dataclass
class Tensor:
    """A tensor, its maker and its readers."""

    name: str
    size: int
    alignment: int
    kind: str
    planned: bool
    maker: int | None = None
    readers: int = 0
    is_input: bool = False
    is_output: bool = False
    of: int | None = None
    offset: int = 0


@dataclass
class Temporary:
    """Memory of an operator in some of its phases, or in all."""

    name: str
    size: int
    alignment: int
    phases: tuple[int, int] | None


@dataclass
class Operator:
    """An operator; its pairs are of tensors."""

    name: str
    inputs: list[int]
    outputs: list[int]
    temporaries: list[Temporary]
    phases: int
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def spans(self) -> list[tuple[int, int, Temporary]]:
        """When each temporary is there."""
        return [(*(one.phases or (0, self.phases)), one) for one in self.temporaries]


class Graph:
    """What the graph says."""

    def __init__(self, document: object) -> None:
        root = fields(
            document,
            "version name pools tensors operators inputs outputs before views order alternatives objective "
            "limits",
        )
        know(number(root.get("version", 1)) == 1, "another version")
        know(not items(root.get("alternatives", [])) and root.get("limits") is None, "alternatives")
        pools = items(root.get("pools", [])) or [{"id": "memory"}]
        know(len(pools) == 1, "several pools")
        self._read_pool(pools[0])
        self.names = set[str]()
        self.tensors = [self._tensor(one) for one in items(root.get("tensors", []))]
        self.tensor = {one.name: i for i, one in enumerate(self.tensors)}
        listed = [self._operator(one) for one in items(root.get("operators", []))]
        self.operators = [one for one, _ in listed]
        self.operator = {one.name: i for i, one in enumerate(self.operators)}
        know(len(self.operator) == len(listed), "an operator twice")
        everything = sum(one.size for one in self.tensors if one.planned)
        everything += sum(inside.size for one in self.operators for inside in one.temporaries)
        phases = sum(one.phases for one in self.operators)
        know(max(everything, phases) <= LIMIT // 2, "more than 2^61 bytes or phases")
        for name in items(root.get("inputs", [])):
            self.tensors[self._named(name)].is_input = True
        for name in items(root.get("outputs", [])):
            self.tensors[self._named(name)].is_output = True
        self._link()
        for pair in items(root.get("before", [])):
            know(all(text(name) in self.operator for name in two(pair)), "an unknown operator")
            first, then = (self.operator[text(name)] for name in two(pair))
            self.before[then] |= 1 << first
        for value in items(root.get("views", [])):
            self._view(fields(value, "tensor of offset"))
        self._find_roots()
        self._check_views()
        for operator, (_, pairs) in zip(self.operators, listed, strict=True):
            for pair in pairs:
                self._pair(operator, *(self._named(name) for name in two(pair)))
        try:
            TopologicalSorter({v: list(members(them)) for v, them in enumerate(self.before)}).prepare()
        except CycleError:
            raise NotCheckedError("operators wait for each other") from None
        terms = root.get("objective")
        first_term = None if terms is None else [text(one) for one in items(terms)[:1]]
        self.about_peaks = first_term in (None, ["peak"], ["max_peak"], [f"peak:{self.pool}"])

    def _read_pool(self, value: object) -> None:
        pool = fields(value, "id capacity alignment reserved base cost")
        self.pool = text(pool.get("id"))
        self.end = LIMIT if pool.get("capacity") is None else number(pool["capacity"])
        self.base = 0 if pool.get("base") is None else number(pool["base"])
        self.alignment = number(pool.get("alignment", 1), 1)
        known = [fields(one, "offset size") for one in items(pool.get("reserved", []))]
        ranges = [(number(one.get("offset")), number(one.get("size"), 1)) for one in known]
        know(all(begin + size <= self.end for begin, size in ranges), "a reserved range beyond the pool")
        self.reserved = list[tuple[int, int]]()
        for begin, size in sorted(ranges):
            if self.reserved and begin <= self.reserved[-1][1]:
                first, last = self.reserved.pop()
                self.reserved.append((first, max(last, begin + size)))
            else:
                self.reserved.append((begin, begin + size))

    def room(self, below: int) -> int:
        """The bytes below an end that are not reserved."""
        return below - sum(max(min(end, below) - begin, 0) for begin, end in self.reserved)

    def _place(self, one: dict[str, object]) -> tuple[str, int, bool]:
        """The new name, the alignment, and whether pools are named."""
        name = text(one.get("id"))
        know(name not in self.names, "a name twice")
        self.names.add(name)
        alignment = lcm(number(one.get("alignment", 1), 1), self.alignment)
        know(alignment <= LIMIT, "an alignment beyond 2^62")
        pools = one.get("pools")
        know(pools is None or [text(pool) for pool in items(pools)] == [self.pool], "other pools")
        return name, alignment, pools is not None

    def _tensor(self, value: object) -> Tensor:
        one = fields(value, "id size shape type kind alignment pools name")
        name, alignment, in_pool = self._place(one)
        kind, shape, size = text(one.get("kind", "data")), one.get("shape"), one.get("size")
        know(kind in ("data", "constant", "state", "external"), "an unknown kind")
        least = None
        if shape is not None and one.get("type") is not None:
            know(text(one["type"]) in BITS, "an unknown type")
            extents = [number(extent) for extent in items(shape)]
            bits = prod(extents) * BITS[text(one["type"])]
            know(bits <= LIMIT, "a shape that is too large")
            least = -(-bits // 8)
        bytes_ = number(size if size is not None else least)
        know(least is None or bytes_ >= least, "a size below that of the shape")
        planned = kind in ("data", "state") or (kind == "constant" and in_pool)
        return Tensor(name, bytes_, alignment, kind, planned)

    def _operator(self, value: object) -> tuple[Operator, list[object]]:
        one = fields(value, "id type inputs outputs temporaries in_place cost window")
        inside = list[Temporary]()
        for entry in items(one.get("temporaries", [])):
            known = fields(entry, "id size phases alignment pools")
            name, alignment, _ = self._place(known)
            phases = None
            if known.get("phases") is not None:
                begin, end = (number(time) for time in two(known["phases"]))
                know(begin < end, "no phase")
                phases = begin, end
            inside.append(Temporary(name, number(known.get("size")), alignment, phases))
        inputs, outputs = (
            [self._named(name) for name in items(one.get(side, []))] for side in ("inputs", "outputs")
        )
        count = max([1, *(entry.phases[1] for entry in inside if entry.phases)])
        operator = Operator(text(one.get("id")), inputs, outputs, inside, count)
        return operator, items(one.get("in_place", []))

    def _named(self, name: object) -> int:
        know(text(name) in self.tensor, "an unknown tensor")
        return self.tensor[text(name)]

    def _link(self) -> None:
        self.before = [0 for _ in self.operators]
        for v, operator in enumerate(self.operators):
            for t in operator.inputs:
                self.tensors[t].readers |= 1 << v
            for t in operator.outputs:
                one = self.tensors[t]
                if one.kind != "state":
                    is_new = one.maker is None and not one.is_input and one.kind != "constant"
                    know(is_new, "made although it is there")
                    one.maker = v
        for one in self.tensors:
            know(one.kind != "data" or one.is_input or one.maker is not None, "made by nobody")
            for reader in members(one.readers):
                if one.maker is not None:
                    self.before[reader] |= 1 << one.maker
        for t, one in enumerate(self.tensors):
            if one.kind == "state":
                users = [v for v, each in enumerate(self.operators) if t in each.inputs or t in each.outputs]
                for u, v in combinations(users, 2):
                    if t in self.operators[u].outputs or t in self.operators[v].outputs:
                        self.before[v] |= 1 << u

    def _view(self, value: dict[str, object]) -> None:
        inner, outer = self._named(value.get("tensor")), self._named(value.get("of"))
        one, around = self.tensors[inner], self.tensors[outer]
        know(one.of is None, "a view twice")
        one.of, one.offset = outer, number(value.get("offset", 0))
        know(one.kind == around.kind == "data", "a view of another kind")
        know(one.offset + one.size <= around.size, "a view that ends beyond")

    def _check_views(self) -> None:
        parts: dict[int, list[tuple[int, int]]] = {}
        for one in self.tensors:
            if one.of is None:
                continue
            around = self.tensors[one.of]
            is_part = around.maker is not None and bool(one.readers >> around.maker & 1)
            is_slice = one.maker is not None and bool(around.readers >> one.maker & 1)
            know(is_part or is_slice or one.maker is around.maker is None, "a view made apart")
            if is_part and one.size:
                parts.setdefault(one.of, []).append((one.offset, one.offset + one.size))
        for t, ranges in parts.items():
            one = self.tensors[t]
            know(all(a[1] <= b[0] for a, b in pairwise(sorted(ranges))), "parts that overlap")
            if one.of is not None and one.maker is not None:
                know(not self.tensors[one.of].readers >> one.maker & 1, "a part of a slice")

    def _pair(self, operator: Operator, source: int, target: int) -> None:
        know(source in operator.inputs and target in operator.outputs, "a pair of another operator")
        kinds = {self.tensors[t].kind for t in (source, target)}
        know(kinds <= {"data", "external"}, "a pair of another kind")
        in_views = {one.of for one in self.tensors}
        in_views |= {t for t, one in enumerate(self.tensors) if one.of is not None}
        know(not {source, target} & in_views, "a pair of views")
        if kinds == {"data"} and (source, target) not in operator.pairs:
            operator.pairs.append((source, target))

    def root(self, t: int) -> tuple[int, int]:
        """The outermost tensor, and the distance from its begin."""
        return self.roots[t]

    def _find_roots(self) -> None:
        self.roots = dict[int, tuple[int, int]]()
        for t in range(len(self.tensors)):
            inside, at = list[int](), t
            while at not in self.roots and (of := self.tensors[at].of) is not None:
                know(len(inside) < len(self.tensors), "views in each other")
                inside.append(at)
                at = of
            root, offset = self.roots.setdefault(at, (at, 0))
            for inner in reversed(inside):
                offset += self.tensors[inner].offset
                self.roots[inner] = root, offset


@dataclass
class Buffer:
    """What has a place in a plan."""

    name: str
    size: int
    alignment: int
    begin: int
    end: int
    tensor: int | None


def overlaps(sized: list[Buffer], offsets: dict[str, int]) -> Iterator[tuple[Buffer, Buffer]]:
    """The pairs that share a byte at some time."""
    changes = list[tuple[int, bool, int]]()  # when: what begins is after what ends
    for number, one in enumerate(sized):
        changes += (one.begin, True, number), (one.end, False, number)
    # What lives, by the digits of sizes, and then by offset: what shares a byte with another begins before
    # its end, and no further below its begin than the most that so many digits can say.
    alive = [list[tuple[int, int]]() for _ in range(64)]
    for _, begins, number in sorted(changes):
        one = sized[number]
        at, own = offsets[one.name], alive[one.size.bit_length()]
        if not begins:
            own.pop(bisect_left(own, (at, number)))
            continue
        for digits, some in enumerate(alive):
            first, end = bisect_left(some, (at - (1 << digits), 0)), bisect_left(some, (at + one.size, 0))
            for offset, other in some[first:end]:
                if at < offset + sized[other].size:
                    yield one, sized[other]
        insort(own, (at, number))


def peak_of(graph: Graph, document: object) -> int | None:
    """The peak of a plan that is right; None if it says infeasible."""
    if not isinstance(document, dict):
        raise NotCheckedError("no plan")
    if text(document.get("status")) == "infeasible":
        return None
    know(document["status"] in ("optimal", "feasible"), "no plan")
    know(graph.about_peaks, "another objective")
    order = list(range(len(graph.operators)))
    if document.get("schedule") is not None:
        schedule = fields(document["schedule"], "order alternatives stripes spills")
        more = [schedule.get(name) or [] for name in ("alternatives", "stripes", "spills")]
        know(not any(items(one) for one in more), "a schedule that does more than order")
        names = [text(name) for name in items(schedule.get("order"))]
        require(all(name in graph.operator for name in names), "an unknown operator")
        know(len({*names}) == len(names), "an operator that runs twice")
        order = [graph.operator[name] for name in names]
    done = 0
    for v in order:
        require(not graph.before[v] & ~done, "an operator that runs too early")
        done |= 1 << v
    require(len(order) == len(graph.operators), "an operator that does not run")
    buffers, ties = _buffers(graph, order)
    offsets = dict[str, int]()
    for value in items(document.get("placements")):
        one = fields(value, "buffer pool offset")
        name, pool, offset = text(one.get("buffer")), text(one.get("pool")), number(one.get("offset"))
        require(name in buffers and name not in offsets, "an unknown buffer, or one twice")
        require(pool == graph.pool, "another pool")
        offsets[name] = offset
    require(len(offsets) == len(buffers), "a buffer without a place")
    for name, offset in offsets.items():
        buffer = buffers[name]
        require(offset + buffer.size <= graph.end, "beyond the end of the pool")
        require((graph.base + offset) % buffer.alignment == 0, "not aligned")
        hits = buffer.size and any(a < offset + buffer.size and offset < b for a, b in graph.reserved)
        require(not hits, "in a reserved range")
        if buffer.tensor is not None and buffer.size:
            root, distance = graph.root(buffer.tensor)
            require(offset == offsets[graph.tensors[root].name] + distance, "another distance")
    sized = [buffer for buffer in buffers.values() if buffer.size]
    for one, other in overlaps(sized, offsets):
        if one.tensor is not None and other.tensor is not None:
            if graph.root(one.tensor)[0] == graph.root(other.tensor)[0]:
                continue
            tie = {(one.tensor, other.tensor), (other.tensor, one.tensor)} & ties
            if offsets[one.name] == offsets[other.name] and tie:
                continue
        raise WrongError("two overlap")
    return max((offsets[one.name] + one.size for one in sized), default=0)


def _buffers(graph: Graph, order: list[int]) -> tuple[dict[str, Buffer], set[tuple[int, int]]]:
    """What is live when, and which tensors may begin at one offset."""
    begins, ends, clock = dict[int, int](), dict[int, int](), 1
    for v in order:
        begins[v] = clock
        clock = ends[v] = clock + graph.operators[v].phases
    buffers = dict[str, Buffer]()
    for t, one in enumerate(graph.tensors):
        if not one.planned:
            continue
        begin, end = (0, 1) if one.maker is None else (begins[one.maker], ends[one.maker])
        end = max([end, *(ends[reader] for reader in members(one.readers))])
        if one.kind != "data":
            begin, end = 0, clock
        buffers[one.name] = Buffer(
            one.name, one.size, one.alignment, begin, clock if one.is_output else end, t
        )
    ties = set[tuple[int, int]]()
    for v, operator in enumerate(graph.operators):
        for first, last, inside in operator.spans():
            buffers[inside.name] = Buffer(
                inside.name, inside.size, inside.alignment, begins[v] + first, begins[v] + last, None
            )
        for source, target in operator.pairs:
            one = graph.tensors[source]
            if buffers[one.name].end == ends[v] and not one.is_output:
                ties.add((source, target))
    return buffers, ties


@dataclass(frozen=True)
class Storage:
    """Bytes that live as one."""

    size: int
    begins: int
    ends: int
    from_start: bool
    kept: bool


@dataclass(frozen=True)
class Between:
    """All sets with what is inside and nothing of what is outside, while an operator may run."""

    inside: int
    outside: int
    running: int = 0


@dataclass
class Program:
    """Operators, and the storages that begin and end with them; pairs are of storages."""

    base: int
    extra: list[int]
    storages: list[Storage]
    before: list[int]
    """By operator, all that come before it."""
    pairs: list[list[tuple[int, int]]]
    all: int

    def begun(self, s: int, done: int) -> bool:
        """Whether it has begun."""
        return self.storages[s].from_start or bool(self.storages[s].begins & done)

    def ended(self, s: int, done: int) -> bool:
        """Whether it has ended."""
        return not self.storages[s].kept and not self.storages[s].ends & ~done

    def live(self, done: int) -> int:
        """What is live after a set."""
        return self.base + sum(
            one.size for s, one in enumerate(self.storages) if self.begun(s, done) and not self.ended(s, done)
        )

    def needs(self, v: int, done: int) -> int:
        """What an operator needs after a set."""
        then = done | 1 << v
        live = sum(
            one.size for s, one in enumerate(self.storages) if self.begun(s, then) and not self.ended(s, done)
        )
        saving = [
            (source, target)
            for source, target in self.pairs[v]
            if self.ended(source, then)
            and not self.ended(source, done)
            and self.begun(target, then)
            and not self.begun(target, done)
        ]
        return self.base + live + self.extra[v] - self.most_saved(tuple(saving))

    def saves(self, pair: tuple[int, int]) -> int:
        """What a pair saves."""
        return min(self.storages[s].size for s in pair)

    def most_saved(self, pairs: tuple[tuple[int, int], ...]) -> int:
        """The most that pairs save of which no two share a storage."""

        @cache
        def best(left: tuple[tuple[int, int], ...]) -> int:
            if not left:
                return 0
            source, target = left[0]
            apart = tuple(pair for pair in left[1:] if pair[0] != source and pair[1] != target)
            return max(best(left[1:]), self.saves(left[0]) + best(apart))

        return best(pairs)

    def next(self, done: int) -> list[int]:
        """The operators that can run next."""
        return [v for v in members(self.all & ~done) if not self.before[v] & ~done]

    def is_closed(self, done: int) -> bool:
        """Whether the set has all that comes before its operators."""
        return not any(self.before[v] & ~done for v in members(done))

    def settled(self, done: int, height: int) -> int:
        """The set after all that may run at once."""
        while True:
            live = self.live(done)
            for v in self.next(done):
                if self.live(done | 1 << v) <= live and self.needs(v, done) <= height:
                    done |= 1 << v
                    break
            else:
                return done

    def without(self, out: int) -> "Program":
        """The program of the other operators."""
        after = [
            set_of(w for w in members(self.all) if self.before[w] >> v & 1) for v in range(len(self.extra))
        ]
        storages = list[Storage]()
        for one in self.storages:
            begins = one.begins
            for v in members(one.begins & out):
                begins |= after[v]
            storages.append(replace(one, begins=begins & ~out, ends=one.ends & ~out))
        before = [0 if out >> v & 1 else them & ~out for v, them in enumerate(self.before)]
        return Program(self.base, self.extra, storages, before, self.pairs, self.all & ~out)

    def ordered(self, u: int, v: int) -> "Program":
        """The program where one operator comes before another."""
        them = self.before[u] | 1 << u
        before = [
            all_before | them if w == v or all_before >> v & 1 else all_before
            for w, all_before in enumerate(self.before)
        ]
        return replace(self, before=before)

    def backwards(self) -> "Program":
        """The program with time reversed."""
        after = [
            set_of(w for w in members(self.all) if self.before[w] >> v & 1) for v in range(len(self.extra))
        ]
        storages = [
            Storage(one.size, one.ends, one.begins, one.kept, one.from_start) for one in self.storages
        ]
        pairs = [[(target, source) for source, target in some] for some in self.pairs]
        return Program(self.base, self.extra, storages, after, pairs, self.all)

    def never_ends(self, s: int, between: Between) -> bool:
        """Whether it has ended in none of the sets."""
        return self.storages[s].kept or bool(self.storages[s].ends & between.outside)

    def always_live(self, s: int, between: Between) -> bool:
        """Whether it is live in each of the sets."""
        return self.begun(s, between.inside | between.running) and self.never_ends(s, between)


def program_of(graph: Graph) -> Program:
    """The storages of a graph."""
    storages, number_of = list[Storage](), dict[int, int]()
    groups: dict[int, list[tuple[int, int]]] = {}
    for t, one in enumerate(graph.tensors):
        if one.kind == "data":
            root, begin = graph.root(t)
            groups.setdefault(root, []).append((t, begin))
    for t in sorted(groups):
        group = [(begin, begin + graph.tensors[one].size, graph.tensors[one]) for one, begin in groups[t]]
        cuts = sorted({cut for begin, end, _ in group for cut in (begin, end)})
        if len(group) == 1:
            number_of[t], cuts = len(storages), [0, graph.tensors[t].size]
        for first, last in pairwise(cuts):
            over = [one for begin, end, one in group if begin <= first and last <= end]
            begins = set_of(one.maker for one in over if one.maker is not None)
            ends = begins
            for one in over:
                ends |= one.readers
            is_input, is_output = any(one.is_input for one in over), any(one.is_output for one in over)
            storages.append(Storage(last - first, begins, ends, is_input, is_output))
    base = sum(one.size for one in graph.tensors if one.planned and one.kind != "data")
    extra = list[int]()
    for operator in graph.operators:
        starts = [first for first, _, _ in operator.spans()]
        extra.append(
            max(
                (sum(one.size for a, b, one in operator.spans() if a <= phase < b) for phase in starts),
                default=0,
            )
        )
    before = list[int]()
    closed = dict[int, int]()
    order = TopologicalSorter({v: list(members(them)) for v, them in enumerate(graph.before)})
    for v in order.static_order():
        closed[v] = graph.before[v]
        for u in members(graph.before[v]):
            closed[v] |= closed[u]
    before = [closed[v] for v in range(len(graph.operators))]
    pairs = [[(number_of[a], number_of[b]) for a, b in operator.pairs] for operator in graph.operators]
    return Program(base, extra, storages, before, pairs, (1 << len(graph.operators)) - 1)


class Proof:
    """The steps of a proof, one after the other."""

    def __init__(self, program: Program, data: bytes) -> None:
        self.program, self.data, self.at = program, data, 0
        self.count = len(program.extra)
        self.refuted = -1
        self.searched: Program | None = None
        self.height = self.made = self.latest = 0
        self.numbers: dict[int, int] = {}
        self.dead: dict[int, int] = {}
        """How often a set is kept."""

    def number(self, limit: int = 1 << 64) -> int:
        """The next number, which is below the limit."""
        value = shift = 0
        while True:
            require(self.at < len(self.data), "cut off")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            require(value < limit and shift <= 70, "a number too large")
            if byte < 128:
                return value

    def listed(self, least: int = 0) -> int:
        """A set of operators."""
        count, next_one, some = self.number(), 0, 0
        require(least <= count <= self.count, "a list that is empty or too long")
        for _ in range(count):
            v = next_one + self.number()
            require(v < self.count, "no such operator")
            next_one = v + 1
            some |= 1 << v
        return some

    def check(self, digest: bytes) -> int:
        """The greatest height that no order keeps to; -1 if there is none."""
        know(self.data.startswith(HEAD), "no proof")
        self.at = len(HEAD) + 32
        require(self.data[len(HEAD) : self.at] == digest, "for another graph")
        steps = 0
        while kind := self.number():
            steps += 1
            require(kind <= 7, "an unknown step")
            rules = (
                self.ends,
                self.operator,
                self.search,
                self.dead_set,
                self.forget,
                self.conclude,
                self.first,
            )
            rules[kind - 1]()
        require(self.number() == steps and self.at == len(self.data), "another end")
        return self.refuted

    def ends(self) -> None:
        """What is there at the start or kept."""
        storages = self.program.storages
        start = sum(one.size for one in storages if one.from_start)
        end = sum(one.size for one in storages if one.kept)
        self.refuted = max(self.refuted, self.program.base + max(start, end) - 1)

    def operator(self) -> None:
        """What one operator needs at least."""
        if self.searched is None:
            self.refuted = max(self.refuted, self.least(self.program) - 1)
        else:
            self.refuted = max(self.refuted, min(self.height, self.least(self.searched) - 1))

    def first(self) -> None:
        """One operator comes before another."""
        program, u, v = self.current(), self.number(self.count), self.number(self.count)
        require(u != v and bool(program.all >> u & program.all >> v & 1), "no two operators of the search")
        require(self.least(program.ordered(v, u)) > self.height, "they may be the other way round")
        self.searched = program.ordered(u, v)
        self._forget_all()

    def least(self, program: Program) -> int:
        """What an operator needs at least."""
        v = self.number(self.count)
        require(bool(program.all >> v & 1), "left out")
        after = set_of(w for w in range(self.count) if program.before[w] >> v & 1)
        between = Between(program.before[v], after | 1 << v, 1 << v)
        always = sum(one.size for s, one in enumerate(program.storages) if program.always_live(s, between))
        opened = [
            pair
            for pair in program.pairs[v]
            if not program.storages[pair[0]].kept
            and not program.storages[pair[0]].ends & between.outside & ~(1 << v)
        ]
        return program.base + program.extra[v] + always + self.case(program, v, between, opened, 0)

    def case(
        self, program: Program, v: int, between: Between, opened: list[tuple[int, int]], depth: int
    ) -> int:
        """The chains less what is saved, at least."""
        if self.number(2):
            require(depth < 500, "too deep")
            chosen = program.pairs[v][self.number(len(program.pairs[v]))]
            require(chosen in opened, "a pair that is not open")
            others = [pair for pair in opened if pair != chosen]
            apart = [pair for pair in others if pair[0] != chosen[0] and pair[1] != chosen[1]]
            require(len(apart) < len(others), "a pair that shares nothing")
            without = self.case(program, v, between, others, depth + 1)
            return min(without, self.case(program, v, between, [chosen, *apart], depth + 1))
        by_target: dict[int, list[tuple[int, int]]] = {}
        for pair in opened:
            by_target.setdefault(pair[1], []).append(pair)
        alone = [some[0] for some in by_target.values() if len(some) == 1]
        saved = sum(max(map(program.saves, some)) for some in by_target.values())
        return self.chains(program, between, v, alone) - saved

    def chains(self, program: Program, between: Between, v: int, alone: list[tuple[int, int]]) -> int:
        """The bytes of chains."""
        used: dict[tuple[bool, int], int] = {}

        def spend(what: tuple[bool, int], amount: int, most: int) -> None:
            used[what] = used.get(what, 0) + amount
            require(amount > 0 and used[what] <= most, "more bytes than there are")

        def closed(some: int) -> int:
            for u in members(some):
                some |= program.before[u]
            return some

        total = 0
        for _ in range(self.number()):
            amount, start, known = self.number(), self.number(), between.inside | between.running
            if start:
                require(start <= len(program.pairs[v]) if v >= 0 else False, "no such pair")
                pair = program.pairs[v][start - 1]
                require(pair in alone, "a pair that a chain cannot begin with")
                spend((True, pair[1]), amount, program.saves(pair))
                known |= closed(program.storages[pair[0]].ends & ~(1 << v))
            count = self.number()
            require(count > 0, "a chain without storages")
            for left in range(count, 0, -1):
                s = self.number(len(program.storages))
                require(program.begun(s, known), "it need not have begun")
                require(not program.always_live(s, between), "it is live anyway")
                require(program.never_ends(s, between) == (left == 1), "not the last one")
                spend((False, s), amount, program.storages[s].size)
                if left > 1:
                    known |= closed(program.storages[s].ends)
            total += amount
        return total

    def search(self) -> None:
        """Of which operators the next sets are."""
        self.height, backwards, out = self.number(LIMIT + 1), self.number(2), self.listed()
        self.searched = self.program.without(out)
        if backwards:
            self.searched = self.searched.backwards()
        self._forget_all()

    def _forget_all(self) -> None:
        self.made = self.latest = 0
        self.numbers.clear()
        self.dead.clear()

    def current(self) -> Program:
        """The program of the search."""
        if self.searched is None:
            raise WrongError("no search yet")
        return self.searched

    def dead_set(self) -> None:
        """A set, and why it is dead."""
        program = self.current()
        self.latest ^= self.listed()
        done = self.latest
        require(not done & ~program.all and done != program.all, "not a set of some operators")
        require(program.is_closed(done), "something before it is missing")
        if self.number(2):
            more = self.listed(1)
            then = done | more
            require(not more & done and not then & ~program.all, "a commit to what is done")
            require(program.is_closed(then), "something before it is missing")
            everything = (1 << self.count) - 1
            between = Between(done, everything & ~then)
            least = self.chains(program, between, -1, [])
            touched = [s for s, one in enumerate(program.storages) if (one.begins | one.ends) & more]
            least += sum(program.storages[s].size for s in touched if program.always_live(s, between))
            live = sum(
                program.storages[s].size
                for s in touched
                if program.begun(s, then) and not program.ended(s, then)
            )
            require(least >= live, "a set in between may have fewer bytes")
            self.expect(then)
        else:
            for v in program.next(done):
                if program.needs(v, done) <= self.height:
                    self.expect(done | 1 << v)
        self.numbers[self.made] = done
        self.dead[done] = self.dead.get(done, 0) + 1
        self.made += 1

    def expect(self, done: int) -> None:
        """A set that has to be dead."""
        settled = self.current().settled(done, self.height)
        require(settled in self.dead, "it leads to a set that is not known to be dead")

    def forget(self) -> None:
        """Sets that are not needed any more."""
        for _ in range(self.number()):
            which = self.made - self.number()
            require(which in self.numbers, "no such set")
            done = self.numbers.pop(which)
            self.dead[done] -= 1
            if not self.dead[done]:
                del self.dead[done]

    def conclude(self) -> None:
        """No order keeps to the height."""
        self.expect(0)
        self.refuted = max(self.refuted, self.height)


def run(graph_path: str, plan_path: str, proof_path: str) -> int:
    """Check the three files and print the verdict."""
    data = Path(graph_path).read_bytes()
    graph = Graph(read_json(data))
    peak = peak_of(graph, read_json(Path(plan_path).read_bytes()))
    proof = Proof(program_of(graph), Path(proof_path).read_bytes())
    refuted = proof.check(sha256(data).digest())
    if peak is None:
        require(refuted >= graph.room(graph.end), "the proof does not show that nothing fits")
        print(f"verified: no order fits into {graph.end} bytes")
        return 0
    require(refuted < graph.room(peak), "the proof contradicts the plan")
    if not peak or refuted >= graph.room(peak - 1):
        print(f"verified: peak {peak} is least of all orders and layouts")
        return 0
    print(
        f"the plan is right, but its peak {peak} is not proven least: only that in each order {refuted + 1} "
        "bytes are live at once"
    )
    return 3


def main(words: list[str]) -> int:
    """The exit code."""
    if len(words) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return run(*words)
    except WrongError as error:
        print(f"wrong: {error}")
        return 1
    except (NotCheckedError, OSError) as error:
        print(f"not checked: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
