"""Plans where every buffer of a program lives in memory: verified, with a proof or an honest gap.

This is the public library; docs/library.md has an example of each name. A name is loaded when it is first
used, so that `import memstow` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.firmware import Built as Built, build as build
    from memstow.planner.exports import export as export
    from memstow.planner.explain.shortfall import (
        Away as Away,
        Change as Change,
        Shortfall as Shortfall,
        TightMoment as TightMoment,
        shortfall as shortfall,
    )
    from memstow.planner.front.front_documents import read_front as read_front, write_front as write_front
    from memstow.planner.front.find_front import front as front
    from memstow.planner.formats import (
        read_graph as read_graph,
        read_plan as read_plan,
        read_problem as read_problem,
        write_graph as write_graph,
        write_plan as write_plan,
        write_problem as write_problem,
    )
    from memstow.planner.tflm.reordering import reorder_model as reorder_model
    from memstow.planner.graph.changes import with_channels as with_channels
    from memstow.planner.graph.documents import retarget as retarget
    from memstow.planner.graph.graph_document import buffer_labels as buffer_labels
    from memstow.planner.graph.schedules import lower_graph as lower_graph
    from memstow.planner.loops import loops as loops, write_loops as write_loops
    from memstow.planner.model.digest import digest as digest
    from memstow.planner.model.errors import (
        DeclinedError as DeclinedError,
        InputError as InputError,
        Issue as Issue,
        MemstowError as MemstowError,
        MissingBackEndError as MissingBackEndError,
        PlugInError as PlugInError,
        RefusedPlanError as RefusedPlanError,
        UnknownSolverError as UnknownSolverError,
    )
    from memstow.planner.model.options import (
        Bound as Bound,
        Event as Event,
        Incumbent as Incumbent,
        Listener as Listener,
        OnBetter as OnBetter,
        Phase as Phase,
        Options as Options,
    )
    from memstow.planner.model.front import (
        Front as Front,
        FrontOptions as FrontOptions,
        FrontPoint as FrontPoint,
        KeptOrder as KeptOrder,
        TargetFront as TargetFront,
    )
    from memstow.planner.model.graph import (
        Alternative as Alternative,
        Graph as Graph,
        Limits as Limits,
        Operator as Operator,
        Temporary as Temporary,
        Tensor as Tensor,
        View as View,
        Window as Window,
    )
    from memstow.planner.model.loops import Loops as Loops
    from memstow.planner.model.plan import (
        Arena as Arena,
        Arenas as Arenas,
        Certificate as Certificate,
        Explanation as Explanation,
        Live as Live,
        Overflow as Overflow,
        Placement as Placement,
        Plan as Plan,
        PoolUse as PoolUse,
        Schedule as Schedule,
        TermValue as TermValue,
    )
    from memstow.planner.model import Status as Status
    from memstow.planner.model.problem import (
        BankConflict as BankConflict,
        Banks as Banks,
        Buffer as Buffer,
        InPlace as InPlace,
        Pool as Pool,
        Problem as Problem,
        Relative as Relative,
        Reserved as Reserved,
        ReuseCost as ReuseCost,
        Target as Target,
    )
    from memstow.planner.model.programs import Kept as Kept, Program as Program, Programs as Programs
    from memstow.planner.formats.programs_format import read_programs as read_programs
    from memstow.planner.proofs.check import CheckedProof as CheckedProof, check_proof as check_proof
    from memstow.planner.proofs.proof_file import Proof as Proof
    from memstow.planner.proofs.prove import prove as prove
    from memstow.planner.proofs.resume import resume_proof as resume_proof
    from memstow.planner.proofs.pseudo_boolean import (
        PseudoBooleanProof as PseudoBooleanProof,
        write_pseudo_boolean as write_pseudo_boolean,
    )
    from memstow.planner.programs import joint_problem as joint_problem, program_plans as program_plans
    from memstow.planner.model.symbolic import (
        Order as Order,
        OrderedPlacement as OrderedPlacement,
        Point as Point,
        PointPeak as PointPeak,
        Symbol as Symbol,
        SymbolicBuffer as SymbolicBuffer,
        SymbolicPlan as SymbolicPlan,
        SymbolicProblem as SymbolicProblem,
        digest_symbolic as digest_symbolic,
        SymbolicGraph as SymbolicGraph,
        SymbolicOperator as SymbolicOperator,
        SymbolicTemporary as SymbolicTemporary,
        SymbolicTensor as SymbolicTensor,
    )
    from memstow.planner.model.tiling import Tiling as Tiling, TilingOptions as TilingOptions
    from memstow.planner.solve.array_places import Places as Places, place as place
    from memstow.planner.formulas.sizes import largest_problem as largest_problem, problem_at as problem_at
    from memstow.planner.formats.native import (
        read_symbolic_graph as read_symbolic_graph,
        write_symbolic_graph as write_symbolic_graph,
        read_symbolic as read_symbolic,
        read_symbolic_plan as read_symbolic_plan,
        write_symbolic as write_symbolic,
        write_symbolic_plan as write_symbolic_plan,
    )
    from memstow.planner.graph.symbolic_graph import lower_symbolic as lower_symbolic
    from memstow.planner.shapes.symbolic_c import write_symbolic_c as write_symbolic_c
    from memstow.planner.shapes.symbolic_layout import (
        Layout as Layout,
        LayoutAt as LayoutAt,
        plan_at as plan_at,
    )
    from memstow.planner.shapes.operator_order import (
        OrderedGraph as OrderedGraph,
        order_symbolic as order_symbolic,
    )
    from memstow.planner.shapes.plan_symbolic import plan_symbolic as plan_symbolic
    from memstow.planner.solve.engine import plan as plan
    from memstow.planner.solve.recheck import recheck as recheck
    from memstow.planner.targets import shipped_target as shipped_target
    from memstow.planner.tflm.runtime_model import arena_of as arena_of
    from memstow.planner.tflm.planned_model import (
        carried_plan as carried_plan,
        planned_model as planned_model,
    )
    from memstow.planner.tflm.measure import measure_arena as measure_arena
    from memstow.planner.tiling.tiling_documents import (
        read_tiling as read_tiling,
        write_tiling as write_tiling,
    )
    from memstow.planner.tiling.tile import tile as tile, tile_all as tile_all
    from memstow.planner.verify import (
        Claim as Claim,
        Code as Code,
        Standing as Standing,
        Subject as Subject,
        Verdict as Verdict,
        Violation as Violation,
        judge as judge,
        verify as verify,
    )
    from memstow.planner.verify.program_plans import verify_programs as verify_programs
    from memstow.planner.verify.tiling_verdict import (
        TilingVerdict as TilingVerdict,
        verify_tiling as verify_tiling,
    )

__version__ = "0.1.0"

# The public names by the module that defines them; `as` above makes them public to type checkers as well.
_HOMES: Final = {
    "memstow.planner.firmware": ("Built", "build"),
    "memstow.planner.exports": ("export",),
    "memstow.planner.explain.shortfall": (
        "Away",
        "Change",
        "Shortfall",
        "TightMoment",
        "shortfall",
    ),
    "memstow.planner.front.front_documents": (
        "read_front",
        "write_front",
    ),
    "memstow.planner.front.find_front": ("front",),
    "memstow.planner.formats": (
        "read_graph",
        "read_plan",
        "read_problem",
        "write_graph",
        "write_plan",
        "write_problem",
    ),
    "memstow.planner.tflm.reordering": ("reorder_model",),
    "memstow.planner.graph.changes": ("with_channels",),
    "memstow.planner.graph.documents": ("retarget",),
    "memstow.planner.graph.graph_document": ("buffer_labels",),
    "memstow.planner.graph.schedules": ("lower_graph",),
    "memstow.planner.loops": (
        "loops",
        "write_loops",
    ),
    "memstow.planner.model.digest": ("digest",),
    "memstow.planner.model.errors": (
        "DeclinedError",
        "InputError",
        "Issue",
        "MemstowError",
        "MissingBackEndError",
        "PlugInError",
        "RefusedPlanError",
        "UnknownSolverError",
    ),
    "memstow.planner.model.options": (
        "Bound",
        "Event",
        "Incumbent",
        "Listener",
        "OnBetter",
        "Phase",
        "Options",
    ),
    "memstow.planner.model.front": (
        "Front",
        "FrontOptions",
        "FrontPoint",
        "KeptOrder",
        "TargetFront",
    ),
    "memstow.planner.model.graph": (
        "Alternative",
        "Graph",
        "Limits",
        "Operator",
        "Temporary",
        "Tensor",
        "View",
        "Window",
    ),
    "memstow.planner.model.loops": ("Loops",),
    "memstow.planner.model.plan": (
        "Arena",
        "Arenas",
        "Certificate",
        "Explanation",
        "Live",
        "Overflow",
        "Placement",
        "Plan",
        "PoolUse",
        "Schedule",
        "TermValue",
    ),
    "memstow.planner.model": ("Status",),
    "memstow.planner.model.problem": (
        "BankConflict",
        "Banks",
        "Buffer",
        "InPlace",
        "Pool",
        "Problem",
        "Relative",
        "Reserved",
        "ReuseCost",
        "Target",
    ),
    "memstow.planner.model.symbolic": (
        "Order",
        "OrderedPlacement",
        "Point",
        "PointPeak",
        "Symbol",
        "SymbolicBuffer",
        "SymbolicPlan",
        "SymbolicProblem",
        "digest_symbolic",
        "SymbolicGraph",
        "SymbolicOperator",
        "SymbolicTemporary",
        "SymbolicTensor",
    ),
    "memstow.planner.model.tiling": (
        "Tiling",
        "TilingOptions",
    ),
    "memstow.planner.solve.array_places": (
        "Places",
        "place",
    ),
    "memstow.planner.formulas.sizes": (
        "largest_problem",
        "problem_at",
    ),
    "memstow.planner.graph.symbolic_graph": ("lower_symbolic",),
    "memstow.planner.formats.native": (
        "read_symbolic_graph",
        "write_symbolic_graph",
        "read_symbolic",
        "read_symbolic_plan",
        "write_symbolic",
        "write_symbolic_plan",
    ),
    "memstow.planner.model.programs": ("Kept", "Program", "Programs"),
    "memstow.planner.formats.programs_format": ("read_programs",),
    "memstow.planner.programs": ("joint_problem", "program_plans"),
    "memstow.planner.proofs.check": ("CheckedProof", "check_proof"),
    "memstow.planner.proofs.proof_file": ("Proof",),
    "memstow.planner.proofs.prove": ("prove",),
    "memstow.planner.proofs.resume": ("resume_proof",),
    "memstow.planner.proofs.pseudo_boolean": ("PseudoBooleanProof", "write_pseudo_boolean"),
    "memstow.planner.shapes.symbolic_c": ("write_symbolic_c",),
    "memstow.planner.shapes.symbolic_layout": (
        "Layout",
        "LayoutAt",
        "plan_at",
    ),
    "memstow.planner.shapes.operator_order": ("OrderedGraph", "order_symbolic"),
    "memstow.planner.shapes.plan_symbolic": ("plan_symbolic",),
    "memstow.planner.solve.engine": ("plan",),
    "memstow.planner.solve.recheck": ("recheck",),
    "memstow.planner.targets": ("shipped_target",),
    "memstow.planner.tflm.runtime_model": ("arena_of",),
    "memstow.planner.tflm.planned_model": (
        "carried_plan",
        "planned_model",
    ),
    "memstow.planner.tflm.measure": ("measure_arena",),
    "memstow.planner.tiling.tiling_documents": (
        "read_tiling",
        "write_tiling",
    ),
    "memstow.planner.tiling.tile": (
        "tile",
        "tile_all",
    ),
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
    "memstow.planner.verify.program_plans": ("verify_programs",),
    "memstow.planner.verify.tiling_verdict": (
        "TilingVerdict",
        "verify_tiling",
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(["__version__", *_HOME_OF])


def _from_home(module: str, homes: dict[str, str], name: str) -> object:
    """What a module that imports nothing at once has under this name, from the module that is its home."""
    if name not in homes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)


def __getattr__(name: str) -> object:
    value = _from_home("memstow", _HOME_OF, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
