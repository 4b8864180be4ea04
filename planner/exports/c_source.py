"""The definitions of the arenas, as C or C++; the header has the rest."""

from memstow.planner.exports.c_header import array, heading
from memstow.planner.exports.memory_map import MemoryMap


def write(memory: MemoryMap) -> str:
    """The source file."""
    arrays = "".join(f"\n{array(memory, arena)}\n" for arena in memory.arenas)
    return f'{heading(memory)}\n\n#include "{memory.naming.header_name}"\n{arrays}'
