"""Reads what a body asks of a front, and refuses what has none, as its job would find out later."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.api.operations.body_issues import at_place, collect
from memstow.api.operations.requests import BodyForm
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Options

if TYPE_CHECKING:
    from memstow.planner.front.request import FrontRequest
    from memstow.planner.model.front import FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem


def front_asked(issues: list[Issue], place: str, form: BodyForm, given: object) -> "FrontOptions | None":
    """The front that the body and the query ask for; None where it is a plan. The body comes first."""
    if form.front is None:
        return None
    from memstow.planner.front.documents import parse_front_options

    asked = {**form.front, **given} if isinstance(given, Mapping) else given
    return collect(issues, place, lambda: parse_front_options(asked))


def front_request(
    document: "Problem | Graph", asked: "FrontOptions", options: Options, place: str, subject: str
) -> "FrontRequest":
    """The request with its defaults; InputError where there is no such front.

    `place` and `subject`: where the body says what is asked for, and where its document is.
    """
    from memstow.planner.front.front import request_of

    try:
        return request_of(document, asked, options)
    except InputError as error:
        raise InputError(_placed(issue, place, subject) for issue in error.issues) from None


def _placed(issue: Issue, place: str, subject: str) -> Issue:
    if issue.path.startswith("$"):
        return at_place(issue, subject)
    return replace(issue, path=f"$.{place}.{issue.path}")
