"""A C program that proves on a machine that no live buffer is overwritten: `check_steps` says how.

It uses the header as the program does that the plan is for, and links with the same arenas. What it writes
are the digits of a number of each buffer: numbers of buffers that must not share bytes differ in a digit, so
that one pass for each digit misses no byte.
"""

from collections.abc import Sequence
from typing import Final

from memstow.planner.exports.c_header import heading, number
from memstow.planner.exports.check_steps import Action, SelfCheck, Span, self_check
from memstow.planner.exports.memory_map import MemoryMap, Place

_STEPS_PER_LINE: Final = 12
_ACTIONS: Final = len(Action)

_VALUE: Final = """\
/* The value of a byte: a digit of the number, and something of the address. */
static unsigned char {symbol}_check_value(uint32_t of, unsigned pass, volatile unsigned char *at)
{{
    uintptr_t address = (uintptr_t)at;
    return (unsigned char)(((of >> (8u * pass)) ^ address ^ (address >> 8) ^ (address >> 16)) & 0xffu);
}}
"""
_ADDRESSES: Final = """\
/* 0, or one more than the index of a buffer that is not where it must be. */
static size_t {symbol}_check_addresses(void)
{{
    const size_t buffers = sizeof {symbol}_check_buffers / sizeof {symbol}_check_buffers[0];
    size_t i;
    for (i = 0; i < buffers; ++i) {{
        const struct {symbol}_check_buffer *buffer = &{symbol}_check_buffers[i];
        uintptr_t address = (uintptr_t)buffer->at;
#ifdef {macro}_CHECK_ANY_ADDRESS
        if (buffer->is_fixed)
            continue;
#endif
        if (address % buffer->alignment != 0 || (buffer->is_fixed && address != buffer->address))
            return i + 1;
    }}
    return 0;
}}
"""
_ROUNDS: Final = """\
/* 0, or one more than the index of a buffer that does not hold what was written into it. */
static size_t {symbol}_check_pass(unsigned pass)
{{
    const size_t steps = sizeof {symbol}_check_steps / sizeof {symbol}_check_steps[0];
    size_t i, k;
    for (i = 0; i < steps; ++i) {{
        const size_t index = {symbol}_check_steps[i] / {actions};
        const unsigned action = (unsigned)({symbol}_check_steps[i] % {actions});
        const struct {symbol}_check_buffer *buffer = &{symbol}_check_buffers[index];
        volatile unsigned char *at = (volatile unsigned char *)buffer->at;
        const uint32_t of = action < 2u ? buffer->number : {own} + (uint32_t)index;
        for (k = 0; k < buffer->size; ++k) {{
            const unsigned char value = {symbol}_check_value(of, pass, at + k);
            if (action % 2u == 0u)
                at[k] = value;
            else if (at[k] != value)
                return index + 1;
        }}
    }}
    return 0;
}}
"""
_DECLARATION: Final = """\
#ifdef __cplusplus
extern "C"
#endif
size_t {symbol}_check(void);

/* 0, or one more than the index of a buffer that is overwritten while it lives, or is at a wrong address. */
size_t {symbol}_check(void)
"""
_CHECK: Final = """\
{{
    size_t wrong = {symbol}_check_addresses();
    unsigned pass;
    for (pass = 0; wrong == 0 && pass < {passes}; ++pass)
        wrong = {symbol}_check_pass(pass);
    return wrong;
}}
"""


def write(memory: MemoryMap) -> str:
    """The program; InputError where it would be too long."""
    places = {index: place for index, place in enumerate(memory.places) if place.buffer.size}
    spans = {
        index: Span(place.pool.id, place.offset, place.offset + place.buffer.size)
        for index, place in places.items()
    }
    check = self_check(memory.problem, spans)
    header = memory.naming.header_name
    top = f'{heading(memory)}\n\n#include "{header}"\n#include <stddef.h>\n#include <stdint.h>\n'
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
    words = [number(row_of[index] * _ACTIONS + action) for action, index in steps]
    lines = [
        ", ".join(words[begin : begin + _STEPS_PER_LINE]) for begin in range(0, len(words), _STEPS_PER_LINE)
    ]
    same = [
        f"{macro}_ASSERT({macro}_OFFSET_{one} == {macro}_OFFSET_{other}, "
        f'"{one} and {other} begin at one place");'
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
    return (
        f"{{{macro}_AT_{name}, {macro}_SIZE_{name}, {number(group)}, {number(place.alignment)}, {address}}}"
    )


def _functions(memory: MemoryMap, check: SelfCheck) -> list[str]:
    macro, symbol = memory.naming.macro, memory.naming.symbol
    if not check.groups:
        return [_DECLARATION.format(symbol=symbol) + "{\n    return 0;\n}\n"]
    own = len(memory.problem.buffers)  # above the numbers of all groups
    digits = ((2 * own - 1).bit_length() + 7) // 8
    words = {
        "macro": macro,
        "symbol": symbol,
        "passes": number(max(1, digits)),
        "own": number(own),
        "actions": number(_ACTIONS),
    }
    return [template.format(**words) for template in (_VALUE, _ADDRESSES, _ROUNDS, _DECLARATION + _CHECK)]


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
