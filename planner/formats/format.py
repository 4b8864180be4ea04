"""What a format is: its name, readers and writers, of problems and of graphs.

And what several formats share: the fields that one refuses because it has no place for them, and problems
that are no more than buffers in one memory, as the plain formats know them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import REPEATED, Placement, Plan, repeated_placements
from memstow.planner.model.problem import ALWAYS, PEAK, Buffer, Interval, Pool, Problem, merged
from memstow.records import fields, record

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.reading.sections import Findings


@record
class Format:
    """The readers get the JSON value where `is_json`, the bytes otherwise."""

    name: str
    is_json: bool
    read_problem: Callable[[Any], Problem]
    write_problem: Callable[[Problem], bytes] | None = None
    read_plan: Callable[[Any, Problem], Plan] | None = None
    write_plan: Callable[[Problem, Plan], bytes] | None = None


# What the writers below this room express or refuse one by one. Anything else that a problem may have, such
# as a new constraint, is refused by all of them until it is listed here.
_CONSIDERED: Final[dict[type[Problem | Pool | Buffer], tuple[str, ...]]] = {
    Problem: (
        "version",
        "name",
        "pools",
        "buffers",
        "conflicts",
        "exclusive",
        "relative",
        "in_place",
        "reuse_costs",
        "objective",
    ),
    Pool: ("id", "capacity", "alignment", "reserved", "base", "cost"),
    Buffer: (
        "id",
        "size",
        "lifetime",
        "lifetimes",
        "alignment",
        "pools",
        "accesses",
        "pool",
        "offset",
        "group",
    ),
}


class Refusals:
    """Collects the fields of a problem that a format cannot express, then refuses them together."""

    def __init__(self, name: str, problem: Problem, of_pools: tuple[str, ...] = ()) -> None:
        """`of_pools`: fields of pools that this writer alone expresses or refuses by itself."""
        self._name = name
        self._issues: dict[str, Issue] = {}
        self._refuse_others("$.", Problem, [problem])
        self._refuse_others("$.pools[{}].", Pool, problem.pools, of_pools)
        self._refuse_others("$.buffers[{}].", Buffer, problem.buffers)

    def _refuse_others(
        self,
        path: str,
        kind: type[Problem | Pool | Buffer],
        holders: Sequence[object],
        also_considered: tuple[str, ...] = (),
    ) -> None:
        """Refuse what no writer has considered yet."""
        for field in fields(kind):
            if field.name not in (*_CONSIDERED[kind], *also_considered):
                for index, holder in enumerate(holders):
                    if getattr(holder, field.name) != field.default:
                        self.add(path.format(index) + field.name)

    def add(self, path: str, why: str = "") -> None:
        """Refuse this field; of a field in a list of objects only the first is reported."""
        field = "".join(character for character in path if not character.isdigit())
        reason = why or "it has no place for it"
        message = f"the format {self._name!r} cannot express this: {reason}"
        self._issues.setdefault(field, Issue("not_expressible", path, message))

    def add_fields(self, path: str, holder: object, **defaults: object) -> None:
        """Refuse each of these fields of a problem or a pool that is not at its default."""
        for name, default in defaults.items():
            if getattr(holder, name) != default:
                self.add(f"{path}.{name}")

    def __bool__(self) -> bool:
        return bool(self._issues)

    def raise_any(self) -> None:
        """Raise InputError if a field was refused."""
        if self._issues:
            raise InputError(self._issues.values())


@record
class GraphFormat:
    """The reader gets the JSON value where `is_json`, the bytes otherwise."""

    name: str
    is_json: bool
    read_graph: "Callable[[Any], Graph]"
    read_model: "Callable[[bytes, bool, Mapping[str, int]], Graph] | None" = None
    """Of a model: the same; where asked, with pairs in place for operators that work element by element; and
    with values for the dimensions that it leaves open."""


def no_open_dimensions() -> InputError:
    """The error about values for dimensions of what has no open ones."""
    message = "only ONNX models have dimensions that are open, and this is something else; leave it out"
    return InputError.single("no_open_dimensions", "--dim", message)


def refuse_beyond_buffers(problem: Problem, refusals: Refusals) -> None:
    """Refuse all that is not a buffer in one unbounded memory. The name is a label and means nothing."""
    if len(problem.pools) > 1:
        refusals.add("$.pools", "there are several pools")
    else:
        pool = problem.pools[0]
        refusals.add_fields("$.pools[0]", pool, capacity=None, alignment=1, reserved=(), base=None, cost=0)
    refusals.add_fields("$", problem, conflicts=(), exclusive=(), relative=(), in_place=(), reuse_costs=())
    if problem.objective is not None and problem.terms() != (str(PEAK),):
        refusals.add("$.objective", "the peak is all it asks for")
    for index, buffer in enumerate(problem.buffers):
        if buffer.accesses is not None:
            refusals.add(f"$.buffers[{index}].accesses")


def plan_of_placements(placements: tuple[Placement, ...], findings: "Findings", *path: str) -> Plan:
    """The plan of placements that a document lists under this path.

    An InputError with all that was found in the document, and with buffers that have two places.
    """
    for index, message in repeated_placements(placements):
        findings.add(REPEATED, (*path, index), message)
    if findings:
        raise findings.error()
    return Plan(status=Status.FEASIBLE, placements=placements)


def live_ranges(buffer: Buffer) -> list[Interval] | None:
    """When the buffer lives, in order and without overlaps; None where no times say so."""
    if buffer.lifetime == ALWAYS:
        return None
    one = buffer.lifetime
    return merged([one] if isinstance(one, tuple) else buffer.lifetimes or ()) or None


def against_moments(first: int, last: int) -> str | None:
    """Why a life given by its first and last moment is not valid; None if it is."""
    if first <= last:
        return None
    return (
        f"the first moment {first:,} is after the last, {last:,}; give the first and then the last, both live"
    )


def single_life(buffer: Buffer, path: str, refusals: Refusals) -> Interval:
    """The one range in which the buffer lives; anything else is refused."""
    if type(buffer.lifetime) is tuple:
        return buffer.lifetime
    ranges = live_ranges(buffer)
    if ranges is None:
        refusals.add(f"{path}.lifetime", "a buffer must have a begin and an end")
        return (0, 0)
    if len(ranges) > 1:
        refusals.add(f"{path}.lifetimes", "a buffer must have one begin and one end")
    return ranges[0]


def refuse_pins(problem: Problem, refusals: Refusals) -> None:
    """Refuse fixed places; being bound to the only pool is none."""
    for index, buffer in enumerate(problem.buffers):
        if buffer.offset is not None:
            refusals.add(f"$.buffers[{index}].offset")
        elif buffer.pool is not None and len(problem.pools) > 1:
            refusals.add(f"$.buffers[{index}].pool")
