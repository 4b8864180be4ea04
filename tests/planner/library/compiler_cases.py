"""What compilers assert of their own planners, as problems: LLVM's tests of `static-memory-planner-analysis`
(pull requests 205125 and 207403) and Triton's `test-allocation.mlir`, with the bytes that these expect.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Case:
    """Buffers as name, size, begin, end and alignment; the arena that a compiler expects, the least."""

    name: str
    buffers: tuple[tuple[str, int, int, int, int], ...]
    asserted: int
    least: int

    def columns(self) -> list[tuple[int, int, int, int]]:
        """The buffers as libmemstow takes them."""
        return [buffer[1:] for buffer in self.buffers]


def _case(name: str, asserted: int, least: int, program: str, alignment: int = 1) -> Case:
    """A case from steps: `a=512` begins a buffer, `a=512@64` aligns it, `a` uses it; `(` and `)` are a loop.

    A buffer lives from its step to its last use, and through a loop that uses it from outside.
    """
    begins, ends, sizes, aligned = dict[str, int](), dict[str, int](), dict[str, int](), dict[str, int]()
    used = dict[str, list[int]]()
    loops, open_loops = list[tuple[int, int]](), list[int]()
    for time, step in enumerate(program.split()):
        if step == "(":
            open_loops.append(time)
        elif step == ")":
            loops.append((open_loops.pop(), time))
        elif "=" in step:
            buffer, _, rest = step.partition("=")
            size, _, wanted = rest.partition("@")
            begins[buffer], ends[buffer] = time, time + 1
            sizes[buffer], aligned[buffer] = int(size), int(wanted or alignment)
        else:
            used.setdefault(step, []).append(time)
            ends[step] = time + 1
    # Loops in the order of their ends: what is inside of another widens first.
    for begin, end in loops:
        for buffer in used:
            if begins[buffer] < begin < ends[buffer]:
                ends[buffer] = max(ends[buffer], end + 1)
    buffers = tuple((b, sizes[b], begins[b], ends[b], aligned[b]) for b in begins)
    return Case(name, buffers, asserted, least)


LLVM: Final = (
    _case("simple_sequential", 6144, 4096, "a=4096 a b=2048 b"),
    _case("non_sequential_pairs", 6144, 6144, "a=4096 b=2048 a b"),
    _case("interleaved_pairs", 3584, 3072, "a=2048 b=1024 a c=512 b c"),
    _case("overlapping_lifetimes", 6144, 6144, "a=2048 b=4096 b a"),
    _case("multiple_sequential", 14336, 8192, "a=4096 a b=2048 b c=8192 c"),
    _case("alignment_padding", 1792, 1024, "a=1024@128 a b=512@64 b c=256@128 c"),
    _case("lcm_alignment", 28, 12, "a=12@4 a b=12@16 b"),
    _case("reuse_non_overlapping", 4096, 4096, "a=4096 a b=4096 b"),
    _case("no_reuse_overlapping", 6144, 6144, "a=4096 b=2048 a b"),
    _case("best_fit_smallest_gap", 10240, 10240, "a=4096 b=1024 c=4096 d=1024 b d a e=512 c e"),
    _case("best_fit_alignment", 576, 448, "a=128@128 b=56 c=128@128 b d=64@128 e=64@256 a c d e"),
)

# What Triton allocates at a place that is not there twice at once; its offsets are multiples of 16.
TRITON: Final = tuple(
    _case(*case, alignment=16)
    for case in (
        ("matmul_loop", 4608, 4608, "( a=4608 b=4352 )"),
        ("reusable", 4608, 4608, "a=4608 b=1088 c=4608 d=1088"),
        (
            "preallocate", 12288, 12288,
            "c0=512 c1=512 c2=512 a=1024 b=1024 c0 c=1024 c1 c2 c4=1024 e=2048 a d=2048 b f=2048 c4 c "
            "c5=2048 g=4096 e h=4096 d i=4096 f c5",
        ),
        ("unused", 1024, 1024, "c0=1024 c1=512 c2=512"),
        (
            "longlive", 2560, 2560,
            "c0=512 c1=512 c2=512 a=1024 c1 c2 c3=512 c4=512 b=1024 c5=512 c6=512 c=1024 c3 c4 d=1024 c0",
        ),
        (
            "multi_color", 1504, 1376,
            "c=64 c0=32 c1=128 s0=1152 c c3=128 c0 s1=1152 c4=256 c5=64 c5 c5 c6=512 c7=128 c0 c8=512 c9=32 "
            "c10=512 c1 c4 s2=1152 c7",
        ),
        (
            "multi_color_multi_rounds", 9504, 9504,
            "c=32 c0=128 c1=8192 s0=1152 c c3=128 c c4=512 c0 c1 s1=1152 c3",
        ),
        ("alloc", 512, 512, "c0=512 c2=512"),
        ("dealloc", 2048, 2048, "c0=1024 c1=1024 c0"),
        ("atomic_scalar", 8196, 8196, "a=8192 s=4 a"),
        ("if", 2048, 2048, "c0=512 c1=512 a=1024 b=1024 c0 c1 c2=512 c3=512 d=1024 c2 c3"),
        ("if_else", 3072, 3072, "c0=512 c1=512 a=1024 b=1024 c2=512 c3=512 d=1024 c2 c3 e=1024 c0 c1"),
        ("for", 24576, 24576, "a=8192 b=8192 c=8192 ( a b c )"),
        ("for_use_ancestor", 32768, 32768, "a=8192 b=8192 c=8192 ( a b c d=8192 )"),
        # An iteration hands either of two buffers to the next one, so that both are there at once.
        ("for_for_if", 40960, 40960, "a=8192 b=8192 c=8192 d=8192 e=8192 ( a b ( c d e ) ) f=8192"),
        ("multiple_calls", 1024, 1024, "c0=512 f=512 g=1024"),
        ("for_calls", 512, 512, "c0=512 ( f=512 )"),
    )
)  # fmt: skip
