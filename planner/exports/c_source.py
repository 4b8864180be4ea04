"""The definitions of the arenas, as C or C++; the header has the rest."""

from memstow.planner.exports.c_header import array, heading
from memstow.planner.exports.layout import Layout


def write(layout: Layout) -> str:
    """The source file."""
    arrays = "".join(f"\n{array(layout, arena)}\n" for arena in layout.arenas)
    return f'{heading(layout)}\n\n#include "{layout.naming.header_name}"\n{arrays}'
