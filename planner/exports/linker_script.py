"""A plan as a fragment of a linker script, for GNU ld and LLD.

It puts the arenas of pools with a base at their addresses, refuses a program in which an arena is anywhere
else or not aligned, and names the address of every buffer for maps, debuggers and assembly. It adds to the
linker script in use, the default one or that of a board, instead of taking its place.
"""

from collections.abc import Iterator

from memstow.planner.exports.c_header import arena_symbol, heading
from memstow.planner.exports.memory_map import Arena, MemoryMap


def write(memory: MemoryMap) -> str:
    """The fragment."""
    lines = [heading(memory), "SECTIONS", "{"]
    fixed = [arena for arena in memory.arenas if arena.address is not None and not arena.is_section_given]
    if fixed:
        # What follows in the script must not go on behind the last of these addresses.
        here = f"{memory.naming.symbol}_memory_here"
        lines += [f"  {here} = .;", *map(_output_section, fixed), f"  . = {here};"]
    for arena in memory.arenas:
        lines += _assertions(memory, arena)
    lines += [
        f"  {memory.naming.symbol}_at_{place.name.lower()} = "
        f"{arena_symbol(memory, place.arena)} + {place.index:#x};"
        for place in memory.places
        if place.arena is not None
    ]
    return "\n".join([*lines, "}", "INSERT BEFORE .bss;", ""])


def _output_section(arena: Arena) -> str:
    return f"  {arena.section} {arena.address:#x} (NOLOAD) : {{ KEEP(*({arena.section})) }}"


def _assertions(memory: MemoryMap, arena: Arena) -> Iterator[str]:
    symbol = arena_symbol(memory, arena)
    if arena.address is not None:
        yield f'  ASSERT({symbol} == {arena.address:#x}, "memstow: {symbol} is not at {arena.address:#x}")'
    elif arena.alignment > 1:
        aligned = f"{symbol} % {arena.alignment:#x} == 0"
        yield f'  ASSERT({aligned}, "memstow: {symbol} is not aligned to {arena.alignment:#x}")'
