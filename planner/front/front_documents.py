"""Fronts as JSON, where a point has a field for each term, and as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.front import OWN_FIELDS, Front, FrontOptions, FrontPoint, TargetFront
from memstow.planner.model.printable import printable
from memstow.planner.reading.json_text import Path, parse_json
from memstow.planner.reading.sections import Findings, Renamed, read_whole

Json = dict[str, object]
"""A JSON object."""


def write_front(front: Front, form: str) -> bytes:
    """The front in this format: json, csv, or svg, a picture."""
    if form == "json":
        return encode_document(plain_front(front))
    if form == "csv":
        return _csv(front)
    from memstow.planner.show.front_report import front_svg

    return front_svg(front).encode()


def plain_front(front: Front) -> Json:
    """The front as JSON holds it."""
    document: Json = plain(replace(front, points=(), targets=()))
    document["points"] = [plain_point(point) for point in front.points]
    document["complete"] = front.complete
    if front.targets:
        document["targets"] = [_plain_target(target) for target in front.targets]
    order = [field.name for field in fields(front)]
    return {name: document[name] for name in sorted(document, key=order.index)}


def plain_point(point: FrontPoint) -> Json:
    """A point as JSON holds it: a field for each term."""
    return {
        **point.values,
        "bounds": dict(point.bounds),
        "proven": point.proven,
        "plan": plain(point.plan),
    }


def read_front(data: bytes) -> Front:
    """The front in a JSON document; InputError where it is none."""
    raw = parse_json(data)
    if isinstance(raw, dict) and "placements" in raw and "points" not in raw:
        message = "this is a plan, where a front is expected: a plan has no points, so no --point either"
        raise InputError.single("not_a_front", "$", message)
    findings = Findings(raw)
    front = read_whole(Front, _with_values(raw), Renamed(findings, _as_written))
    if findings or not isinstance(front, Front):
        raise findings.error()
    issues = [*_missing_values(front, front.points, "$")]
    for number, target in enumerate(front.targets):
        issues += _missing_values(front, target.points, f"$.targets[{number}]")
    if issues:
        raise InputError(issues)
    return front


def _missing_values(front: Front, points: Sequence[FrontPoint], path: str) -> Iterator[Issue]:
    """Of each term that a point has no value of, although the front is one of it."""
    for number, point in enumerate(points):
        for term in front.terms:
            if term not in point.values:
                message = f"the point has no value of {printable(term)}, a term of the front; give it one"
                yield Issue("missing_value", f"{path}.points[{number}]", message)


def plain_options(options: FrontOptions) -> Json:
    """What is asked for, as JSON holds it."""
    document: Json = plain(options)
    return document


def parse_front_options(raw: object) -> FrontOptions:
    """What a JSON value asks for; InputError where it is wrong."""
    findings = Findings(raw)
    options = read_whole(FrontOptions, raw, findings)
    if findings or not isinstance(options, FrontOptions):
        raise findings.error()
    return options


def _plain_target(front: TargetFront) -> Json:
    document: Json = plain(replace(front, points=()))
    document["bytes"] = front.bytes
    document["complete"] = front.complete
    document["points"] = [plain_point(point) for point in front.points]
    return document


def _with_values(raw: Any) -> Any:
    """The same with the fields of terms gathered in `values`, as `FrontPoint` has them."""
    if not isinstance(raw, dict):
        return raw
    document = dict(raw)
    for name, change in (("points", _point_with_values), ("targets", _with_values)):
        if isinstance(raw.get(name), list):
            document[name] = [change(entry) if isinstance(entry, dict) else entry for entry in raw[name]]
    return document


def _as_written(path: Path) -> Path:
    """The place in the document of what stands in `values` here."""
    at = len(path) - 2
    in_point = at >= 2 and path[at] == "values" and path[at - 2] == "points"
    return (*path[:at], path[-1]) if in_point else path


def _point_with_values(raw: dict[str, object]) -> dict[str, object]:
    own = {name: value for name, value in raw.items() if name in OWN_FIELDS}
    return own | {"values": {name: value for name, value in raw.items() if name not in OWN_FIELDS}}


def _csv(front: Front) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    head = ["target"] if front.targets else []
    writer.writerow([*head, *front.terms, *(f"{term} bound" for term in front.terms), "proven"])
    if not front.targets:
        writer.writerows(_rows(front, front.points))
    for target in front.targets:
        writer.writerows([target.target, *row] for row in _rows(front, target.points))
    return file.getvalue().encode()


def _rows(front: Front, points: Iterable[FrontPoint]) -> Iterable[list[str]]:
    for point in points:
        values = [str(point.values[term]) for term in front.terms]
        bounds = [str(point.bounds.get(term, "")) for term in front.terms]
        yield [*values, *bounds, "yes" if point.proven else "no"]
