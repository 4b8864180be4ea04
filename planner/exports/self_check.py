"""A self-check: a C program that proves on a machine that no live buffer is overwritten.

Step by step it writes each buffer when its life begins, and reads it when it ends. Buffers of a rigid group
write the same into the bytes that they share. Two buffers that may share bytes while both live, because they
exclude each other or one is made in place of the other, are not in one *round*: each round has some of the
buffers, and any two that must not share bytes are together in one. What is in a round is written and read in
the order of time. Listed conflicts, which need no times, are tried pair by pair.

The program uses the header as the program does that the plan is for, and links with the same arenas. What it
writes are the digits of a number of each buffer: numbers of buffers that must not share bytes differ in a
digit, so that one pass for each digit misses no byte.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import Final

from memstow.planner.exports.c_text import assertion, filled, include, unsigned
from memstow.planner.exports.source_code import MemoryMap, Place, plan_heading
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import ALWAYS, Buffer, Problem, rigid_groups, spans

MOST_STEPS: Final = 4_000_000
_MOST_PAIRS: Final = 1_000_000
_MOST_WORK: Final = 20_000_000

Pair = tuple[int, int]
Life = tuple[float, float]


class Action(IntEnum):
    """What happens to a buffer. `MARK` and `TEST` are `WRITE` and `READ` with a value that no other has."""

    WRITE = 0
    READ = 1
    MARK = 2
    TEST = 3


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes of a buffer."""

    pool: str
    begin: int
    end: int

    def meets(self, other: "Span") -> bool:
        """Whether they share a byte."""
        return self.pool == other.pool and self.begin < other.end and other.begin < self.end


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """The steps, and what they need to know of the buffers."""

    steps: tuple[tuple[Action, int], ...]
    """Actions on buffers, by their index in the problem."""
    groups: Mapping[int, int]
    """The number of each buffer's rigid group; a buffer that is tied to no other is a group of its own."""
    in_place: tuple[Pair, ...]
    """Buffers that share bytes because they begin at the same place."""


def self_check(problem: Problem, spans: Mapping[int, Span]) -> SelfCheck:
    """The check for a plan, given by the bytes of each buffer that has any; InputError if it is too long."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    groups = {index: index for index in spans}
    for group in rigid_groups(problem, index_of):
        groups.update(dict.fromkeys(group.members, group.members[0]))
    relations = _Relations(problem, index_of, spans, groups)
    lives = {index: _lives(problem.buffers[index]) for index in spans}
    steps: list[tuple[Action, int]] = []
    work = _Work()
    for members in _rounds(relations, spans, lives, work):
        _add_steps(steps, _round_steps(members, spans, lives, groups, work))
    for one, other in relations.listed:
        _add_steps(steps, [(Action.MARK, one), (Action.MARK, other), (Action.TEST, one)])
    return SelfCheck(tuple(steps), groups, tuple(sorted(relations.in_place)))


class _Work:
    """What was looked at, and an end to it."""

    def __init__(self) -> None:
        self._done = 0

    def add(self, amount: int) -> None:
        """Count it; InputError when it is too much."""
        self._done += amount
        if self._done > _MOST_WORK:
            raise _too_large()


class _Relations:
    """Which buffers with bytes may share them while both live, and which may never."""

    def __init__(
        self,
        problem: Problem,
        index_of: Mapping[str, int],
        spans: Mapping[int, Span],
        groups: Mapping[int, int],
    ) -> None:
        def pairs(ids: Iterable[tuple[str, str]]) -> set[Pair]:
            indices = (tuple(sorted((index_of[one], index_of[other]))) for one, other in ids)
            return {
                (one, other) for one, other in indices if one in spans and other in spans and one != other
            }

        self._groups = groups
        inputs = pairs((entry.input, entry.output) for entry in problem.in_place)
        same_place = {
            (one, other)
            for one, other in inputs
            if (spans[one].pool, spans[one].begin) == (spans[other].pool, spans[other].begin)
        }
        conflicts = pairs(problem.conflicts) - same_place
        self.listed: list[Pair] = sorted(conflicts)
        self.in_place: set[Pair] = {entry for entry in same_place if groups[entry[0]] != groups[entry[1]]}
        self._may_share = same_place | (pairs(problem.exclusive) - conflicts)

    def may_share(self, one: int, other: int) -> bool:
        """Whether the two may have a byte in common while both live."""
        pair = (one, other) if one < other else (other, one)
        return pair in self._may_share or self._groups[one] == self._groups[other]

    def sharing(self, spans: Mapping[int, Span]) -> Iterator[Pair]:
        """The pairs that may have a byte in common, have one, and are not tied to each other."""
        for one, other in sorted(self._may_share):
            if self._groups[one] != self._groups[other] and spans[one].meets(spans[other]):
                yield one, other


def _lives(buffer: Buffer) -> Sequence[Life]:
    return [(-inf, inf)] if buffer.lifetime == ALWAYS else spans(buffer)


def _rounds(
    relations: _Relations, spans: Mapping[int, Span], lives: Mapping[int, Sequence[Life]], work: _Work
) -> Iterator[Set[int]]:
    """The buffers of each round."""
    apart: dict[int, set[int]] = {}
    for one, other in relations.sharing(spans):
        if _live_together(lives[one], lives[other]):
            apart.setdefault(one, set()).add(other)
            apart.setdefault(other, set()).add(one)
    always = {index for index in spans if index not in apart}
    if not apart:
        yield always
        return
    left = _together(relations, spans, lives, apart)
    left |= {(index, index) for index in apart}
    while left:
        work.add(len(left) + len(apart))
        chosen = set(min(left))
        for index, others in apart.items():
            if chosen.isdisjoint(others):
                chosen.add(index)
        left = {(one, other) for one, other in left if one not in chosen or other not in chosen}
        yield always | chosen


def _live_together(ones: Sequence[Life], others: Sequence[Life]) -> bool:
    i = j = 0
    while i < len(ones) and j < len(others):
        if ones[i][0] < others[j][1] and others[j][0] < ones[i][1]:
            return True
        if ones[i][1] <= others[j][1]:
            i += 1
        else:
            j += 1
    return False


def _together(
    relations: _Relations,
    spans: Mapping[int, Span],
    lives: Mapping[int, Sequence[Life]],
    among: Iterable[int],
) -> set[Pair]:
    """The pairs of these buffers that live together in one pool and must not share a byte."""
    pairs: set[Pair] = set()
    live_in: dict[str, set[int]] = {}
    for _, begins, index in _moments(among, lives):
        live = live_in.setdefault(spans[index].pool, set())
        if not begins:
            live.discard(index)
            continue
        for other in live:
            if not relations.may_share(index, other):
                pairs.add((index, other) if index < other else (other, index))
        live.add(index)
        if len(pairs) > _MOST_PAIRS:
            raise _too_large()
    return pairs


def _moments(members: Iterable[int], lives: Mapping[int, Sequence[Life]]) -> list[tuple[float, bool, int]]:
    """When a life ends (False) or begins (True), in order: at one time what ends is before what begins."""
    return sorted(
        moment
        for index in members
        for begin, end in lives[index]
        for moment in ((begin, True, index), (end, False, index))
    )


def _round_steps(
    members: Iterable[int],
    spans: Mapping[int, Span],
    lives: Mapping[int, Sequence[Life]],
    groups: Mapping[int, int],
    work: _Work,
) -> Iterator[tuple[Action, int]]:
    live: dict[int, set[int]] = {}
    for _, begins, index in _moments(members, lives):
        tied = live.setdefault(groups[index], set())
        if begins:
            work.add(len(tied))
            # Writing what is there already would hide that somebody else overwrote it.
            for other in sorted(tied):
                if spans[other].meets(spans[index]):
                    yield Action.READ, other
            yield Action.WRITE, index
            tied.add(index)
        else:
            yield Action.READ, index
            tied.discard(index)


def _add_steps(steps: list[tuple[Action, int]], more: Iterable[tuple[Action, int]]) -> None:
    for step in more:
        steps.append(step)
        if len(steps) > MOST_STEPS:
            raise _too_large()


def _too_large() -> InputError:
    message = f"a self-check of this problem would take more than {MOST_STEPS:,} steps, the most it may have"
    return InputError.single("too_large", "output_format", message)


_STEPS_PER_LINE: Final = 12
_ACTIONS: Final = len(Action)

_VALUE: Final = """\
/* The value of a byte: a digit of the number, and something of the address. */
static unsigned char @n_check_value(uint32_t of, unsigned pass, volatile unsigned char *at)
{
    uintptr_t address = (uintptr_t)at;
    return (unsigned char)(((of >> (8u * pass)) ^ address ^ (address >> 8) ^ (address >> 16)) & 0xffu);
}
"""
_ADDRESSES: Final = """\
/* 0, or one more than the index of a buffer that is not where it must be. */
static size_t @n_check_addresses(void)
{
    const size_t buffers = sizeof @n_check_buffers / sizeof @n_check_buffers[0];
    size_t i;
    for (i = 0; i < buffers; ++i) {
        const struct @n_check_buffer *buffer = &@n_check_buffers[i];
        uintptr_t address = (uintptr_t)buffer->at;
#ifdef @N_CHECK_ANY_ADDRESS
        if (buffer->is_fixed)
            continue;
#endif
        if (address % buffer->alignment != 0 || (buffer->is_fixed && address != buffer->address))
            return i + 1;
    }
    return 0;
}
"""
_ROUNDS: Final = """\
/* 0, or one more than the index of a buffer that does not hold what was written into it. */
static size_t @n_check_pass(unsigned pass)
{
    const size_t steps = sizeof @n_check_steps / sizeof @n_check_steps[0];
    size_t i, k;
    for (i = 0; i < steps; ++i) {
        const size_t index = @n_check_steps[i] / @ACTIONS;
        const unsigned action = (unsigned)(@n_check_steps[i] % @ACTIONS);
        const struct @n_check_buffer *buffer = &@n_check_buffers[index];
        volatile unsigned char *at = (volatile unsigned char *)buffer->at;
        const uint32_t of = action < 2u ? buffer->number : @OWN + (uint32_t)index;
        for (k = 0; k < buffer->size; ++k) {
            const unsigned char value = @n_check_value(of, pass, at + k);
            if (action % 2u == 0u)
                at[k] = value;
            else if (at[k] != value)
                return index + 1;
        }
    }
    return 0;
}
"""
_DECLARATION: Final = """\
#ifdef __cplusplus
extern "C"
#endif
size_t @n_check(void);

/* 0, or one more than the index of a buffer that is overwritten while it lives, or is at a wrong address. */
size_t @n_check(void)
"""
_CHECK: Final = """\
{
    size_t wrong = @n_check_addresses();
    unsigned pass;
    for (pass = 0; wrong == 0 && pass < @PASSES; ++pass)
        wrong = @n_check_pass(pass);
    return wrong;
}
"""


def write_c_check(memory: MemoryMap) -> str:
    """The program; InputError where it would be too long."""
    places = {index: place for index, place in enumerate(memory.places) if place.buffer.size}
    spans = {
        index: Span(place.pool.id, place.offset, place.offset + place.buffer.size)
        for index, place in places.items()
    }
    check = self_check(memory.problem, spans)
    includes = f'#include "{memory.naming.header_name}"\n{include("stddef.h", "stdint.h")}'
    top = f"{plan_heading(memory)}\n\n{includes}"
    names = [place.name for place in places.values()]
    parts = [top, *_tables(memory, places, check), *_functions(memory, check), _main(memory, names)]
    return "\n".join(parts)


def _tables(memory: MemoryMap, places: dict[int, Place], check: SelfCheck) -> list[str]:
    macro, symbol = memory.naming.macro, memory.naming.symbol
    if not places:
        return []
    rows = [_row(macro, place, check.groups[index]) for index, place in places.items()]
    row_of = {index: row for row, index in enumerate(places)}
    # C has no empty arrays. Writing into the first buffer harms nobody.
    steps = check.steps or ((Action.WRITE, next(iter(places))),)
    words = [unsigned(row_of[index] * _ACTIONS + action) for action, index in steps]
    lines = [
        ", ".join(words[begin : begin + _STEPS_PER_LINE]) for begin in range(0, len(words), _STEPS_PER_LINE)
    ]
    same = [
        assertion(
            macro, f"{macro}_OFFSET_{one} == {macro}_OFFSET_{other}", f"{one} and {other} begin at one place"
        )
        for one, other in ((places[i].name, places[j].name) for i, j in check.in_place)
    ]
    return [
        f"struct {symbol}_check_buffer {{\n    void *at;\n    size_t size;\n    uint32_t number;\n"
        "    size_t alignment;\n    int is_fixed;\n    uintptr_t address;\n};\n",
        f"static const struct {symbol}_check_buffer {symbol}_check_buffers[] = {{\n    "
        + ",\n    ".join(rows)
        + "\n};\n",
        f"static const uint32_t {symbol}_check_steps[] = {{\n    " + ",\n    ".join(lines) + "\n};\n",
        *(["\n".join(same) + "\n"] if same else []),
    ]


def _row(macro: str, place: Place, group: int) -> str:
    name = place.name
    address = "0, 0u" if place.address is None else f"1, {macro}_ADDRESS_{name}"
    numbers = f"{unsigned(group)}, {unsigned(place.alignment)}"
    return f"{{{macro}_AT_{name}, {macro}_SIZE_{name}, {numbers}, {address}}}"


def _functions(memory: MemoryMap, check: SelfCheck) -> list[str]:
    macro, symbol = memory.naming.macro, memory.naming.symbol
    if not check.groups:
        return [filled(_DECLARATION, macro, symbol) + "{\n    return 0;\n}\n"]
    own = len(memory.problem.buffers)  # above the numbers of all groups
    digits = ((2 * own - 1).bit_length() + 7) // 8
    words = {
        "ACTIONS": unsigned(_ACTIONS),
        "OWN": unsigned(own),
        "PASSES": unsigned(max(1, digits)),
    }
    templates = (_VALUE, _ADDRESSES, _ROUNDS, _DECLARATION + _CHECK)
    return [filled(template, macro, symbol, **words) for template in templates]


def _main(memory: MemoryMap, names: Sequence[str]) -> str:
    macro, symbol = memory.naming.macro, memory.naming.symbol
    listed = ",\n        ".join(f'"{name}"' for name in names)
    if names:
        body = f"""\
    static const char *const names[] = {{
        {listed}
    }};
    const size_t wrong = {symbol}_check();
    if (wrong != 0) {{
        printf("{symbol}: %s is overwritten while it lives, or at a wrong address\\n", names[wrong - 1]);
        return 1;
    }}
"""
    else:
        body = ""
    return f"""\
#ifndef {macro}_CHECK_WITHOUT_MAIN
#include <stdio.h>

int main(void)
{{
{body}    printf("{symbol}: no live buffer is overwritten\\n");
    return 0;
}}
#endif
"""
