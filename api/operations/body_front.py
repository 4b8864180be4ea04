"""Reads what a body asks of a front, and refuses what has none, as its job would find out later."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from memstow.api.operations.body_issues import at_place, collect
from memstow.api.operations.encoding import FRONT, TARGETS
from memstow.api.operations.requests import BodyForm
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options
from memstow.planner.reading.parse import parse_target
from memstow.planner.reading.printable import printable
from memstow.planner.targets.by_name import shipped_target

if TYPE_CHECKING:
    from memstow.planner.front.request import FrontRequest
    from memstow.planner.model.front import FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem, Target

_MOST_TARGETS: Final = 64
"""As `planner.front.targets` has it, whose import takes its time."""


@dataclass(frozen=True, slots=True)
class AskedFront:
    """The front that a body asks for, or those of several targets."""

    asked: "FrontOptions"
    targets: "tuple[Target, ...]"
    """Each with the name that it is called by; empty: one front, of the document as it is."""
    fronts: "tuple[tuple[Problem | Graph, FrontRequest], ...]"
    """Those that the job finds, each with its document."""


@dataclass(frozen=True, slots=True)
class FrontMembers:
    """What a body and the query say of a front, as read."""

    asked: "FrontOptions | None"
    targets: "tuple[Target, ...] | None"


def read_front_members(
    issues: list[Issue], form: BodyForm, raw: Mapping[str, object] | None
) -> FrontMembers | None:
    """What the envelope, if there is one, and the query ask for; None where it is a plan.

    What the envelope says comes before the query.
    """
    if form.front is None:
        return None
    from memstow.planner.front.documents import parse_front_options

    of_query = raw is None
    raw = raw or {}
    given = raw.get(FRONT, {})
    asked = {**form.front, **given} if isinstance(given, Mapping) else given
    found = collect(issues, "query" if of_query else FRONT, lambda: parse_front_options(asked))
    named = form.targets if raw.get(TARGETS) is None else raw[TARGETS]
    if named is None:
        return FrontMembers(found, ())
    place = f"query.{TARGETS}" if of_query else TARGETS
    if {**form.changes, **raw}.get("target") is not None:
        message = "a front is in the memories of one target or of several: give `target` or `targets`"
        issues.append(Issue("two_targets", f"$.{place}", message))
    return FrontMembers(found, _targets(issues, place, named))


def front_of(
    document: "Problem | Graph", members: FrontMembers, options: Options, place: str, subject: str
) -> AskedFront:
    """The front with its defaults; InputError where there is no such front.

    `place` and `subject`: where the body says what is asked for, and where its document is.
    """
    from memstow.planner.front.front import request_of

    asked, targets = members.asked, members.targets
    assert asked is not None and targets is not None  # noqa: S101, PT018  (all issues were raised before)
    try:
        if not targets:
            return AskedFront(asked, (), ((document, request_of(document, asked, options)),))
        from memstow.planner.front.targets import in_targets

        found = in_targets(document, asked, options, targets)
        return AskedFront(asked, targets, tuple((it.document, it.request) for it in found))
    except InputError as error:
        raise InputError(_placed(issue, place, subject) for issue in error.issues) from None


def _targets(issues: list[Issue], place: str, named: object) -> "tuple[Target, ...] | None":
    """The targets by name or as documents, each with what it is called."""
    if not isinstance(named, list) or not 0 < len(named) <= _MOST_TARGETS:
        message = f"name 1 to {_MOST_TARGETS} targets, in a list, each by its name or as a document"
        issues.append(Issue("not_targets", f"$.{place}", message))
        return None
    found = [collect(issues, f"{place}[{at}]", partial(_target, it, at)) for at, it in enumerate(named)]
    seen: set[str] = set()
    for at, target in enumerate(found):
        name = None if target is None else target.name
        if name in seen:
            message = f"another target is called {printable(name or '', 80)!r}; give each a name of its own"
            issues.append(Issue("repeated_target", f"$.{place}[{at}]", message))
        seen.add(name or "")
    return None if None in found else tuple(it for it in found if it is not None)


def _target(given: object, at: int) -> "Target":
    if isinstance(given, str):
        return replace(shipped_target(given), name=given)
    target = parse_target(given)
    return target if target.name else replace(target, name=f"target {at + 1}")


def _placed(issue: Issue, place: str, subject: str) -> Issue:
    if issue.path.startswith("$"):
        return at_place(issue, subject)
    return replace(issue, path=f"$.{place}.{issue.path}")
