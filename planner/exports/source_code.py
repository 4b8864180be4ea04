"""A plan as source code: a C header and the arenas it declares, a linker script, a Rust module.

They are written from a `MemoryMap`, a plan as code has it: arenas, which are arrays, and the place of each
buffer in one of them. A pool without a base is one array: the linker chooses its address, and offset 0 is its
first byte. A pool with a base is at a fixed address, where others have what is reserved: each stretch between
reserved ranges that holds buffers is an array, from its first byte that is used to its last.

C is C11 and later, C++ is C++11 and later. The linker script is a fragment for GNU ld and LLD: it puts the
arenas of pools with a base at their addresses, refuses a program in which an arena is anywhere else or not
aligned, and names the address of every buffer for maps, debuggers and assembly. It adds to the linker script
in use, the default one or that of a board, instead of taking its place.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from math import lcm
from typing import TYPE_CHECKING, Final

from memstow.planner.exports.c_text import (
    assertion,
    guard_begin,
    guard_end,
    heading,
    heading_lines,
    unsigned,
)
from memstow.planner.exports.naming import Naming, identifiers, in_comment
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan, peaks
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, merged
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label

# The largest alignment that every compiler for ELF accepts.
_LARGEST_ALIGNMENT: Final = 1 << 28


@record
class Arena:
    """An array that holds the buffers of a pool, or of a stretch of it."""

    name: str
    pool: Pool
    start: int
    """The offset in the pool of its first byte."""
    size: int
    alignment: int
    """What the compiler must grant; of an array at a fixed address, what that address has."""
    section: str
    is_section_given: bool
    """Whether the linker script of the program has the section, and places it."""

    @property
    def address(self) -> int | None:
        """Where it must be, if that is fixed."""
        return None if self.pool.base is None else self.pool.base + self.start


@record
class Place:
    """The place of one buffer, and the array that holds it."""

    name: str
    buffer: Buffer
    pool: Pool
    offset: int
    alignment: int
    """Of its address: its own and that of its pool."""
    arena: Arena | None
    """None for a buffer of size 0 that is outside of every arena."""

    @property
    def address(self) -> int | None:
        """Its absolute address, if its pool has a base."""
        return None if self.pool.base is None else self.pool.base + self.offset

    @property
    def index(self) -> int:
        """Its first byte, counted from that of its arena."""
        return self.offset - self.arena.start if self.arena else 0


class MemoryMap:
    """Arenas and places of a plan, with the names they have in code."""

    def __init__(
        self, problem: Problem, plan: Plan, naming: Naming, labels: "Mapping[str, Label] | None" = None
    ) -> None:
        self.problem = problem
        self.proof = plan.proof_sha256
        self._labels = labels or {}
        self.naming = naming
        self._names = identifiers(buffer.id for buffer in problem.buffers)
        self._placed = {place.buffer: place for place in plan.placements}
        self.peaks = peaks(problem, plan.placements)
        self._stretches = [
            (pool, number, members)
            for pool, placed in self._by_pool()
            for number, members in enumerate(_stretches(pool, placed))
        ]
        self._pool_names = identifiers([pool.id for pool in problem.pools])

    def pool_name(self, pool: Pool) -> str:
        """The name of the pool, as the end of an identifier."""
        return self._pool_names[pool.id]

    def comment(self, place: "Place") -> str:
        """Which buffer it is, as comments may say that."""
        label = self._labels.get(place.buffer.id)
        what = "" if label is None else f": {in_comment(str(label))}"
        return f"Buffer {in_comment(place.buffer.id)} in {in_comment(place.pool.id)}{what}."

    @cached_property
    def arenas(self) -> tuple[Arena, ...]:
        """All arenas, in the order of pools and of addresses."""
        taken = {name.lower() for name in self._pool_names.values()}
        arenas = []
        for pool, number, members in self._stretches:
            name = self._pool_names[pool.id]
            if number:
                name = next(entry for entry in _numbered(name, number + 1) if entry.lower() not in taken)
                taken.add(name.lower())
            arenas.append(self._arena(name, pool, members))
        return tuple(arenas)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The places of all buffers, in the order of the problem."""
        pools = {pool.id: pool for pool in self.problem.pools}
        arenas: dict[str, list[Arena]] = {}
        for arena in self.arenas:
            arenas.setdefault(arena.pool.id, []).append(arena)
        places = []
        for buffer in self.problem.buffers:
            placed = self._placed[buffer.id]
            pool = pools[placed.pool]
            inside = _arena_at(arenas.get(pool.id, ()), placed.offset, buffer.size)
            # Above the limit only the address 0 is aligned, and C cannot count so far.
            alignment = min(lcm(buffer.alignment, pool.alignment), LIMIT)
            places.append(Place(self._names[buffer.id], buffer, pool, placed.offset, alignment, inside))
        return tuple(places)

    def _by_pool(self) -> Iterator[tuple[Pool, list[tuple[Buffer, Placement]]]]:
        members: dict[str, list[tuple[Buffer, Placement]]] = {}
        for buffer in self.problem.buffers:
            place = self._placed[buffer.id]
            members.setdefault(place.pool, []).append((buffer, place))
        for pool in self.problem.pools:
            yield pool, members.get(pool.id, [])

    def _arena(self, name: str, pool: Pool, members: Sequence[tuple[Buffer, Placement]]) -> Arena:
        start = 0 if pool.base is None else min(place.offset for buffer, place in members if buffer.size)
        size = max(place.offset + buffer.size for buffer, place in members if buffer.size) - start
        section = self.naming.sections.get(pool.id)
        # Linker scripts collect what begins with .bss; what has an address must be a section of its own.
        own = f"{'.bss' if pool.base is None else '.memstow'}.{self.naming.symbol}.{name.lower()}"
        alignment = _alignment(pool, pool.base, start, (buffer for buffer, _ in members))
        return Arena(name, pool, start, size, alignment, section or own, section is not None)


def _numbered(name: str, first: int) -> Iterator[str]:
    return (f"{name}_{number}" for number in count(first))


def _arena_at(arenas: Sequence[Arena], offset: int, size: int) -> Arena | None:
    """The arena of a pool that holds these bytes; a buffer of size 0 may be at its end."""
    index = bisect_right(arenas, offset, key=lambda arena: arena.start) - 1
    if index < 0 or offset + size > arenas[index].start + arenas[index].size:
        return None
    return arenas[index]


def _stretches(
    pool: Pool, members: Sequence[tuple[Buffer, Placement]]
) -> Iterator[Sequence[tuple[Buffer, Placement]]]:
    """The buffers of each array of the pool; none where no buffer has bytes."""
    if not any(buffer.size for buffer, _ in members):
        return
    if pool.base is None:
        yield members
        return
    ends = [end for _, end in merged((entry.offset, entry.offset + entry.size) for entry in pool.reserved)]
    at: dict[int, list[tuple[Buffer, Placement]]] = {}
    for buffer, place in members:
        if buffer.size:
            at.setdefault(bisect_right(ends, place.offset), []).append((buffer, place))
    for _, stretch in sorted(at.items()):
        yield stretch


def _alignment(pool: Pool, base: int | None, start: int, buffers: Iterable[Buffer]) -> int:
    """What the array must be aligned to, so that all of its buffers are."""
    wanted = 1
    for alignment in sorted({pool.alignment, *(buffer.alignment for buffer in buffers)}):
        power = alignment & -alignment
        if base is None and (alignment != power or power > _LARGEST_ALIGNMENT):
            message = (
                f"an array cannot be aligned to {alignment:,}: give the pool a `base`, or use alignments "
                f"that are powers of two, up to {_LARGEST_ALIGNMENT:,}"
            )
            raise InputError.single("not_expressible", f"pool {printable(pool.id)!r}", message)
        wanted = max(wanted, power)
    address = 0 if base is None else base + start
    # An array at a fixed address has what that address has.
    return min(wanted, address & -address or wanted, _LARGEST_ALIGNMENT)


def write_c_header(memory: MemoryMap) -> str:
    """Write the C header: sizes, offsets and addresses, the arrays, and what the compiler checks."""
    macro = memory.naming.macro
    guard = f"{macro}_MEMORY_H"
    parts = [
        f"{plan_heading(memory)}\n{guard_begin(guard, 'stddef.h', 'stdint.h')}",
        f"""\
#ifdef __cplusplus
#define {macro}_ALIGNED(bytes) alignas(bytes)
#define {macro}_ASSERT(condition, message) static_assert(condition, message)
#else
#define {macro}_ALIGNED(bytes) _Alignas(bytes)
#define {macro}_ASSERT(condition, message) _Static_assert(condition, message)
#endif
""",
        *(_c_pool(memory, pool) for pool in memory.problem.pools),
        *(_c_section(memory, arena) for arena in memory.arenas),
        _c_declarations(memory),
        *(_c_buffer(memory, place) for place in memory.places),
        "".join(f"{line}\n" for line in _c_assertions(memory)),
        guard_end(guard),
    ]
    return "\n".join(part for part in parts if part)


def plan_heading(memory: MemoryMap) -> str:
    """What a file of C or a linker script is, and of which problem."""
    return heading("The plan", memory.problem.name, digest(memory.problem), proof=memory.proof)


def arena_symbol(memory: MemoryMap, arena: Arena) -> str:
    """The name of the array, which the linker knows as well."""
    return f"{memory.naming.symbol}_arena_{arena.name.lower()}"


def c_array(memory: MemoryMap, arena: Arena, storage: str = "") -> str:
    """The array as it is declared and defined."""
    macro = memory.naming.macro
    return (
        f"{macro}_ALIGNED({unsigned(arena.alignment)}) {storage}{macro}_SECTION_{arena.name} unsigned char "
        f"{arena_symbol(memory, arena)}[{unsigned(arena.size)}];"
    )


def _c_pool(memory: MemoryMap, pool: Pool) -> str:
    macro, name = memory.naming.macro, memory.pool_name(pool)
    lines = [
        f"/* Pool {in_comment(pool.id)}. */",
        f"#define {macro}_POOL_SIZE_{name} {unsigned(memory.peaks.get(pool.id, 0))}",
    ]
    if pool.capacity is not None:
        lines.append(f"#define {macro}_POOL_CAPACITY_{name} {unsigned(pool.capacity)}")
    if pool.base is not None:
        lines.append(f"#define {macro}_POOL_BASE_{name} {unsigned(pool.base)}")
    return "\n".join(lines) + "\n"


def _c_section(memory: MemoryMap, arena: Arena) -> str:
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


def _c_declarations(memory: MemoryMap) -> str:
    if not memory.arenas:
        return ""
    arrays = "\n".join(c_array(memory, arena, "extern ") for arena in memory.arenas)
    return f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{arrays}\n#ifdef __cplusplus\n}}\n#endif\n'


def _c_buffer(memory: MemoryMap, place: Place) -> str:
    macro, name = memory.naming.macro, place.name
    lines = [
        f"/* {memory.comment(place)} */",
        f"#define {macro}_OFFSET_{name} {unsigned(place.offset)}",
        f"#define {macro}_SIZE_{name} {unsigned(place.buffer.size)}",
    ]
    if place.address is not None:
        lines.append(f"#define {macro}_ADDRESS_{name} {unsigned(place.address)}")
    if place.arena is not None:
        at = f"{arena_symbol(memory, place.arena)} + {unsigned(place.index)}"
        lines.append(f"#define {macro}_AT_{name} ((void *)({at}))")
    elif place.address is not None:
        lines.append(f"#define {macro}_AT_{name} ((void *)(uintptr_t){unsigned(place.address)})")
    return "\n".join(lines) + "\n"


def _c_assertions(memory: MemoryMap) -> Iterator[str]:
    macro = memory.naming.macro
    # Compilers warn of comparisons that 0 always passes.
    for pool in (pool for pool in memory.problem.pools if memory.peaks.get(pool.id)):
        name = memory.pool_name(pool)
        largest = "PTRDIFF_MAX" if pool.base is None else f"UINTPTR_MAX - {macro}_POOL_BASE_{name}"
        yield assertion(macro, f"{macro}_POOL_SIZE_{name} <= {largest}", f"{name} fits the address space")
        if pool.capacity is not None:
            size, capacity = f"{macro}_POOL_SIZE_{name}", f"{macro}_POOL_CAPACITY_{name}"
            yield assertion(macro, f"{size} <= {capacity}", f"{name} is large enough")
    for place in memory.places:
        name = place.name
        if place.arena is not None and place.buffer.size:
            end = f"{macro}_OFFSET_{name} + {macro}_SIZE_{name}"
            most = f"{unsigned(place.arena.start)} + sizeof({arena_symbol(memory, place.arena)})"
            yield assertion(macro, f"{end} <= {most}", f"{name} is inside of its arena")
        if place.alignment > 1:
            where = "OFFSET" if place.address is None else "ADDRESS"
            aligned = f"{macro}_{where}_{name} % {unsigned(place.alignment)} == 0u"
            yield assertion(macro, aligned, f"{name} is aligned")


def write_c_source(memory: MemoryMap) -> str:
    """Write the C source file, which defines the arrays."""
    arrays = "".join(f"\n{c_array(memory, arena)}\n" for arena in memory.arenas)
    return f'{plan_heading(memory)}\n\n#include "{memory.naming.header_name}"\n{arrays}'


def write_linker_script(memory: MemoryMap) -> str:
    """Write the fragment of a linker script."""
    lines = [plan_heading(memory), "SECTIONS", "{"]
    fixed = [arena for arena in memory.arenas if arena.address is not None and not arena.is_section_given]
    if fixed:
        # What follows in the script must not go on behind the last of these addresses.
        here = f"{memory.naming.symbol}_memory_here"
        lines += [f"  {here} = .;", *map(_output_section, fixed), f"  . = {here};"]
    for arena in memory.arenas:
        lines += _linker_assertions(memory, arena)
    lines += [
        f"  {memory.naming.symbol}_at_{place.name.lower()} = "
        f"{arena_symbol(memory, place.arena)} + {place.index:#x};"
        for place in memory.places
        if place.arena is not None
    ]
    return "\n".join([*lines, "}", "INSERT BEFORE .bss;", ""])


def _output_section(arena: Arena) -> str:
    return f"  {arena.section} {arena.address:#x} (NOLOAD) : {{ KEEP(*({arena.section})) }}"


def _linker_assertions(memory: MemoryMap, arena: Arena) -> Iterator[str]:
    symbol = arena_symbol(memory, arena)
    if arena.address is not None:
        yield f'  ASSERT({symbol} == {arena.address:#x}, "memstow: {symbol} is not at {arena.address:#x}")'
    elif arena.alignment > 1:
        aligned = f"{symbol} % {arena.alignment:#x} == 0"
        yield f'  ASSERT({aligned}, "memstow: {symbol} is not aligned to {arena.alignment:#x}")'


def write_rust(memory: MemoryMap) -> str:
    """Write the Rust module, for `include!` or as a file of its own."""
    top = heading_lines("The plan", memory.problem.name, digest(memory.problem), proof=memory.proof)
    lines = [
        *(f"// {line}" for line in top),
        f"pub mod {memory.naming.symbol}_memory {{",
        "    #![allow(dead_code)]",
        *(line for pool in memory.problem.pools for line in _rust_pool(memory, pool)),
        *(
            line
            for i, arena in enumerate(memory.arenas, 1)
            for line in _rust_arena(memory, arena, f"Arena{i}")
        ),
        *(line for place in memory.places for line in _rust_buffer(memory, place)),
        *_rust_assertions(memory),
        "}",
        "",
    ]
    return "\n".join(lines)


def _rust_pool(memory: MemoryMap, pool: Pool) -> Iterator[str]:
    name = memory.pool_name(pool).upper()
    yield f"    /// Pool {in_comment(pool.id)}."
    yield _rust_constant(f"POOL_SIZE_{name}", memory.peaks.get(pool.id, 0))
    if pool.capacity is not None:
        yield f"    pub const POOL_CAPACITY_{name}: u64 = {pool.capacity};"
    if pool.base is not None:
        yield _rust_constant(f"POOL_BASE_{name}", pool.base)


def _rust_arena(memory: MemoryMap, arena: Arena, kind: str) -> Iterator[str]:
    name = arena.name.upper()
    yield f"    /// The array that holds buffers of {in_comment(arena.pool.id)}."
    yield f"    #[repr(C, align({arena.alignment}))]"
    yield f"    pub struct {kind}(core::cell::UnsafeCell<[u8; {arena.size}]>);"
    yield "    // SAFETY: it only gives away raw pointers; whoever uses them keeps the order."
    yield f"    unsafe impl Sync for {kind} {{}}"
    yield f"    impl {kind} {{"
    yield "        /// The address of the first byte."
    yield "        pub fn start(&self) -> usize {"
    yield "            self.0.get() as usize"
    yield "        }"
    yield "    }"
    yield f'    #[unsafe(export_name = "{arena_symbol(memory, arena)}")]'
    yield f'    #[unsafe(link_section = "{arena.section}")]'
    yield f"    pub static ARENA_{name}: {kind} ="
    yield f"        {kind}(core::cell::UnsafeCell::new([0; {arena.size}]));"


def _rust_buffer(memory: MemoryMap, place: Place) -> Iterator[str]:
    name = place.name.upper()
    yield f"    /// {memory.comment(place)}"
    yield _rust_constant(f"OFFSET_{name}", place.offset)
    yield _rust_constant(f"SIZE_{name}", place.buffer.size)
    if place.address is not None:
        yield _rust_constant(f"ADDRESS_{name}", place.address)
    if place.arena is not None:
        yield f"    pub fn at_{place.name.lower()}() -> *mut u8 {{"
        yield f"        ARENA_{place.arena.name.upper()}.0.get().cast::<u8>().wrapping_add({place.index})"
        yield "    }"


def _rust_assertions(memory: MemoryMap) -> Iterator[str]:
    for pool in memory.problem.pools:
        name = memory.pool_name(pool).upper()
        if pool.capacity is not None and memory.peaks.get(pool.id):
            yield f"    const _: () = assert!(POOL_SIZE_{name} as u64 <= POOL_CAPACITY_{name});"
    for place in memory.places:
        name = place.name.upper()
        if place.arena is not None and place.buffer.size:
            end = place.arena.start + place.arena.size
            yield f"    const _: () = assert!(OFFSET_{name} + SIZE_{name} <= {end});"
        if place.alignment > 1:
            where = "OFFSET" if place.address is None else "ADDRESS"
            yield f"    const _: () = assert!({where}_{name} % {place.alignment} == 0);"


def _rust_constant(name: str, value: int) -> str:
    return f"    pub const {name}: usize = {value};"
