"""A plan as a Rust module: constants, arenas, and functions for the places of buffers."""

from collections.abc import Iterator

from memstow.planner.exports.c_header import arena_symbol
from memstow.planner.exports.identifiers import in_comment
from memstow.planner.exports.memory_map import Arena, MemoryMap, Place
from memstow.planner.model.digest import digest
from memstow.planner.model.problem import Pool


def write(memory: MemoryMap) -> str:
    """The module, for `include!` or as a file of its own."""
    lines = [
        *_heading(memory),
        f"pub mod {memory.naming.symbol}_memory {{",
        "    #![allow(dead_code)]",
        *(line for pool in memory.problem.pools for line in _pool(memory, pool)),
        *(line for i, arena in enumerate(memory.arenas, 1) for line in _arena(memory, arena, f"Arena{i}")),
        *(line for place in memory.places for line in _buffer(memory, place)),
        *_assertions(memory),
        "}",
        "",
    ]
    return "\n".join(lines)


def _heading(memory: MemoryMap) -> list[str]:
    name = memory.problem.name
    of = "" if name is None else f" of {in_comment(name)}"
    return [
        f"// The plan{of}, as memstow wrote it: not to be edited.",
        f"// Problem {digest(memory.problem)}",
    ]


def _pool(memory: MemoryMap, pool: Pool) -> Iterator[str]:
    name = memory.pool_name(pool).upper()
    yield f"    /// Pool {in_comment(pool.id)}."
    yield _constant(f"POOL_SIZE_{name}", memory.peaks.get(pool.id, 0))
    if pool.capacity is not None:
        yield f"    pub const POOL_CAPACITY_{name}: u64 = {pool.capacity};"
    if pool.base is not None:
        yield _constant(f"POOL_BASE_{name}", pool.base)


def _arena(memory: MemoryMap, arena: Arena, kind: str) -> Iterator[str]:
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


def _buffer(memory: MemoryMap, place: Place) -> Iterator[str]:
    name = place.name.upper()
    yield f"    /// {memory.comment(place)}"
    yield _constant(f"OFFSET_{name}", place.offset)
    yield _constant(f"SIZE_{name}", place.buffer.size)
    if place.address is not None:
        yield _constant(f"ADDRESS_{name}", place.address)
    if place.arena is not None:
        yield f"    pub fn at_{place.name.lower()}() -> *mut u8 {{"
        yield f"        ARENA_{place.arena.name.upper()}.0.get().cast::<u8>().wrapping_add({place.index})"
        yield "    }"


def _assertions(memory: MemoryMap) -> Iterator[str]:
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


def _constant(name: str, value: int) -> str:
    return f"    pub const {name}: usize = {value};"
