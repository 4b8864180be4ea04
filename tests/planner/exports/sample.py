"""A problem with everything that code must cope with, and its plan; and files for it."""

from memstow.planner.exports import export, names
from memstow.planner.graph.graph_document import Label
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, Reserved
from memstow.planner.solve import engine

HOSTILE = (
    "*/ int x; /*",
    "// \\",
    "??/",
    "line\nbreak\r",
    "quote \" and ' and `",
    "\u202eevil\u2028",
    "größe",
    "日本",
    "東京",
    "%s%n",
    "#define A",
    "0",
    "a",
    "A",
    "a_size",
    "a size",
    "a.size",
    "int",
    "at",
    "_",
    "__",
    " ",
    "x" * 1024,
)


def sample(base: int = 0x20000000, ddr_base: int | None = None) -> Problem:
    """Pools with and without an address, reserved ranges, rigid groups, in-place pairs and hostile names."""
    hostile = tuple(
        Buffer(id=name, size=16, lifetime=(index, index + 3), alignment=8, pool="ddr")
        for index, name in enumerate(HOSTILE)
    )
    return Problem(
        name="*/ ??/\nhostile",
        pools=(
            Pool(
                id="tcm",
                capacity=8192,
                alignment=16,
                base=base,
                reserved=(Reserved(offset=0, size=1024), Reserved(offset=2048, size=1024)),
            ),
            Pool(id="ddr", cost=3, base=ddr_base),
            Pool(id="*/ unused", capacity=64, cost=9),
        ),
        buffers=(
            Buffer(id="low", size=1000, lifetime=(0, 4), pool="tcm", alignment=64),
            Buffer(id="high", size=2000, lifetime=(0, 4), pool="tcm", alignment=64),
            Buffer(id="in", size=512, lifetime=(0, 3), pool="ddr", alignment=32),
            Buffer(id="out", size=512, lifetime=(2, 5), pool="ddr", alignment=32),
            Buffer(id="cat", size=256, lifetime=(4, 9), pool="ddr"),
            Buffer(id="left", size=128, lifetime=(2, 6), pool="ddr"),
            Buffer(id="empty", size=0, lifetime=(2, 6), pool="ddr"),
            *hostile,
        ),
        relative=(Relative(buffer="left", base="cat", offset=64),),
        in_place=(InPlace(input="in", output="out"),),
    )


def plan_of(problem: Problem) -> Plan:
    """A plan, always the same."""
    return engine.plan(problem, Options(deterministic=True, work_limit=100_000))


def files(
    problem: Problem, plan: Plan, prefix: str = "net", sections: dict[str, str] | None = None
) -> dict[str, bytes]:
    """Every file of the plan, by its name."""
    suffixes = {"c-header": ".h", "c-source": ".c", "c-check": ".check.c", "ld": ".ld", "rust": ".rs"}
    assert set(suffixes) == set(names())
    labels = {name: Label(name, name[::-1]) for name in HOSTILE}
    return {
        f"{prefix}{suffix}": export(problem, plan, form, prefix=prefix, sections=sections, labels=labels)
        for form, suffix in suffixes.items()
    }
