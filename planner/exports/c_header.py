"""A plan as a C header: constants of every pool and buffer, and declarations of the arenas.

C11 and later, C++11 and later. `c_source` has the definitions of the arenas.
"""

from collections.abc import Iterator

from memstow.planner.exports.identifiers import in_comment
from memstow.planner.exports.memory_map import Arena, MemoryMap, Place
from memstow.planner.model.digest import digest
from memstow.planner.model.problem import Pool


def write(memory: MemoryMap) -> str:
    """The header."""
    guard = f"{memory.naming.macro}_MEMORY_H"
    parts = [
        f"{heading(memory)}\n#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        _language(memory.naming.macro),
        *(_pool(memory, pool) for pool in memory.problem.pools),
        *(_section(memory, arena) for arena in memory.arenas),
        _declarations(memory),
        *(_buffer(memory, place) for place in memory.places),
        "".join(f"{line}\n" for line in _assertions(memory)),
        f"#endif /* {guard} */\n",
    ]
    return "\n".join(part for part in parts if part)


def heading(memory: MemoryMap) -> str:
    """What a file is, and of which problem: nothing that changes while the plan stays."""
    name = memory.problem.name
    of = "" if name is None else f" of {in_comment(name)}"
    return (
        f"/* The plan{of}, as memstow wrote it: not to be edited.\n * Problem {digest(memory.problem)}\n */"
    )


def number(value: int) -> str:
    """A constant that is unsigned, and as wide as its value needs."""
    return f"{value}u"


def arena_symbol(memory: MemoryMap, arena: Arena) -> str:
    """The name of the array, which the linker knows as well."""
    return f"{memory.naming.symbol}_arena_{arena.name.lower()}"


def array(memory: MemoryMap, arena: Arena, storage: str = "") -> str:
    """The array as it is declared and defined."""
    macro = memory.naming.macro
    return (
        f"{macro}_ALIGNED({number(arena.alignment)}) {storage}{macro}_SECTION_{arena.name} unsigned char "
        f"{arena_symbol(memory, arena)}[{number(arena.size)}];"
    )


def _language(macro: str) -> str:
    return f"""\
#ifdef __cplusplus
#define {macro}_ALIGNED(bytes) alignas(bytes)
#define {macro}_ASSERT(condition, message) static_assert(condition, message)
#else
#define {macro}_ALIGNED(bytes) _Alignas(bytes)
#define {macro}_ASSERT(condition, message) _Static_assert(condition, message)
#endif
"""


def _pool(memory: MemoryMap, pool: Pool) -> str:
    macro, name = memory.naming.macro, memory.pool_name(pool)
    lines = [
        f"/* Pool {in_comment(pool.id)}. */",
        f"#define {macro}_POOL_SIZE_{name} {number(memory.peaks.get(pool.id, 0))}",
    ]
    if pool.capacity is not None:
        lines.append(f"#define {macro}_POOL_CAPACITY_{name} {number(pool.capacity)}")
    if pool.base is not None:
        lines.append(f"#define {macro}_POOL_BASE_{name} {number(pool.base)}")
    return "\n".join(lines) + "\n"


def _section(memory: MemoryMap, arena: Arena) -> str:
    """The macro for the section; compilers without the attribute need one that is not the usual."""
    macro = f"{memory.naming.macro}_SECTION_{arena.name}"
    if arena.is_section_given or arena.address is not None:
        otherwise = f'#error "define {macro}: how this compiler puts an array into {arena.section}"'
    else:
        otherwise = f"#define {macro}"
    return f"""\
#ifndef {macro}
#if defined(__GNUC__) && defined(__ELF__)
#define {macro} __attribute__((section("{arena.section}")))
#else
{otherwise}
#endif
#endif
"""


def _declarations(memory: MemoryMap) -> str:
    if not memory.arenas:
        return ""
    arrays = "\n".join(array(memory, arena, "extern ") for arena in memory.arenas)
    return f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{arrays}\n#ifdef __cplusplus\n}}\n#endif\n'


def _buffer(memory: MemoryMap, place: Place) -> str:
    macro, name = memory.naming.macro, place.name
    lines = [
        f"/* {memory.comment(place)} */",
        f"#define {macro}_OFFSET_{name} {number(place.offset)}",
        f"#define {macro}_SIZE_{name} {number(place.buffer.size)}",
    ]
    if place.address is not None:
        lines.append(f"#define {macro}_ADDRESS_{name} {number(place.address)}")
    if place.arena is not None:
        at = f"{arena_symbol(memory, place.arena)} + {number(place.index)}"
        lines.append(f"#define {macro}_AT_{name} ((void *)({at}))")
    elif place.address is not None:
        lines.append(f"#define {macro}_AT_{name} ((void *)(uintptr_t){number(place.address)})")
    return "\n".join(lines) + "\n"


def _assertions(memory: MemoryMap) -> Iterator[str]:
    macro = memory.naming.macro
    # Compilers warn of comparisons that 0 always passes.
    for pool in (pool for pool in memory.problem.pools if memory.peaks.get(pool.id)):
        name = memory.pool_name(pool)
        largest = "PTRDIFF_MAX" if pool.base is None else f"UINTPTR_MAX - {macro}_POOL_BASE_{name}"
        yield _assertion(macro, f"{macro}_POOL_SIZE_{name} <= {largest}", f"{name} fits the address space")
        if pool.capacity is not None:
            size, capacity = f"{macro}_POOL_SIZE_{name}", f"{macro}_POOL_CAPACITY_{name}"
            yield _assertion(macro, f"{size} <= {capacity}", f"{name} is large enough")
    for place in memory.places:
        name = place.name
        if place.arena is not None and place.buffer.size:
            end = f"{macro}_OFFSET_{name} + {macro}_SIZE_{name}"
            most = f"{number(place.arena.start)} + sizeof({arena_symbol(memory, place.arena)})"
            yield _assertion(macro, f"{end} <= {most}", f"{name} is inside of its arena")
        if place.alignment > 1:
            where = "OFFSET" if place.address is None else "ADDRESS"
            aligned = f"{macro}_{where}_{name} % {number(place.alignment)} == 0u"
            yield _assertion(macro, aligned, f"{name} is aligned")


def _assertion(macro: str, condition: str, says: str) -> str:
    return f'{macro}_ASSERT({condition}, "{says}");'
