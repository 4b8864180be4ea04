"""Where every buffer of a program lives in memory: verified, with a proof or an honest gap.

This is the public library; docs/library.md has an example of each name. A name is loaded when it is first
used, so that `import memstow` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.formats import read_plan, read_problem, write_plan, write_problem
    from memstow.planner.model.digest import digest
    from memstow.planner.model.errors import (
        DeclinedError,
        InputError,
        Issue,
        MemstowError,
        MissingBackEndError,
        RefusedPlanError,
        UnknownSolverError,
    )
    from memstow.planner.model.events import Bound, Event, Incumbent, Listener, OnBetter, Phase
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import (
        Certificate,
        Explanation,
        Live,
        Overflow,
        Placement,
        Plan,
        PoolUse,
        Status,
        TermValue,
    )
    from memstow.planner.model.problem import Buffer, InPlace, Pool, Problem, Relative, Reserved, ReuseCost
    from memstow.planner.model.target import Target
    from memstow.planner.solve.engine import plan
    from memstow.planner.solve.recheck import recheck
    from memstow.planner.targets.by_name import shipped_target
    from memstow.planner.targets.target import retarget
    from memstow.planner.verify import Claim, Code, Standing, Subject, Verdict, Violation, judge, verify

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "Buffer",
    "Certificate",
    "Claim",
    "Code",
    "DeclinedError",
    "Event",
    "Explanation",
    "InPlace",
    "Incumbent",
    "InputError",
    "Issue",
    "Listener",
    "Live",
    "MemstowError",
    "MissingBackEndError",
    "OnBetter",
    "Options",
    "Overflow",
    "Phase",
    "Placement",
    "Plan",
    "Pool",
    "PoolUse",
    "Problem",
    "RefusedPlanError",
    "Relative",
    "Reserved",
    "ReuseCost",
    "Standing",
    "Status",
    "Subject",
    "Target",
    "TermValue",
    "UnknownSolverError",
    "Verdict",
    "Violation",
    "__version__",
    "digest",
    "judge",
    "plan",
    "read_plan",
    "read_problem",
    "recheck",
    "retarget",
    "shipped_target",
    "verify",
    "write_plan",
    "write_problem",
]

# Where each name is at home.
_HOMES: Final = {
    "memstow.planner.formats": ("read_plan", "read_problem", "write_plan", "write_problem"),
    "memstow.planner.model.digest": ("digest",),
    "memstow.planner.model.errors": (
        "DeclinedError",
        "InputError",
        "Issue",
        "MemstowError",
        "MissingBackEndError",
        "RefusedPlanError",
        "UnknownSolverError",
    ),
    "memstow.planner.model.events": ("Bound", "Event", "Incumbent", "Listener", "OnBetter", "Phase"),
    "memstow.planner.model.options": ("Options",),
    "memstow.planner.model.plan": (
        "Certificate",
        "Explanation",
        "Live",
        "Overflow",
        "Placement",
        "Plan",
        "PoolUse",
        "Status",
        "TermValue",
    ),
    "memstow.planner.model.problem": (
        "Buffer",
        "InPlace",
        "Pool",
        "Problem",
        "Relative",
        "Reserved",
        "ReuseCost",
    ),
    "memstow.planner.solve.engine": ("plan",),
    "memstow.planner.solve.recheck": ("recheck",),
    "memstow.planner.targets.by_name": ("shipped_target",),
    "memstow.planner.model.target": ("Target",),
    "memstow.planner.targets.target": ("retarget",),
    "memstow.planner.verify": (
        "Claim",
        "Code",
        "Standing",
        "Subject",
        "Verdict",
        "Violation",
        "judge",
        "verify",
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'memstow' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
