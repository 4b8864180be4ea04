"""Responses: plans with their tags, jobs and other JSON; and recent plans, for repeated requests."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from starlette.responses import Response

import memstow
from memstow.api.operations.request_types import Document
from memstow.api.process_memory import LruCache
from memstow.api.store.tables import Job, timestamp

_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')
_VENDOR: Final = "application/vnd.memstow."
MEDIA_TYPES: Final = {
    "json": f"{_VENDOR}problem+json",
    "csv": "text/csv",
    "structured": f"{_VENDOR}structured+json",
    "executorch": f"{_VENDOR}executorch+json",
    "usmp": f"{_VENDOR}usmp+json",
    "xla": f"{_VENDOR}xla",
    "graph": f"{_VENDOR}graph+json",
    "tflite": "application/vnd.tflite",
    "onnx": "application/onnx",
    "torch-snapshot": f"{_VENDOR}torch-snapshot",
    "torch-trace": f"{_VENDOR}torch-trace",
    "stalloc": f"{_VENDOR}stalloc",
    "programs": f"{_VENDOR}programs+json",
}
SOURCE_CODE: Final = "text/plain; charset=utf-8"
"""The media type of plans as source code."""
_MEDIA_TYPES_OF_PLANS: Final = {
    "json": "application/json",
    "page": "application/json",
    "svg": "image/svg+xml",
    "loops": f"{_VENDOR}loops+json",
    "loops-picture": "image/svg+xml",
    "zip": "application/zip",
    "stalloc": SOURCE_CODE,
}
"""Where that is not the media type of a problem in this format."""


JsonObject = dict[str, Any]
"""A JSON object that is only written: a response, an example, a schema."""


@dataclass(frozen=True, slots=True)
class PlanBody:
    """The body of a response with a plan."""

    body: bytes
    media_type: str
    etag: str

    def response(self, cache: str, headers: Mapping[str, str] | None = None) -> Response:
        """The response; `cache` says whether the plan came from the cache."""
        own = {"ETag": self.etag, "Memstow-Cache": cache, "Cache-Control": "private, no-cache"}
        return Response(self.body, 200, {**own, **(headers or {})}, self.media_type)


def media_type_of_plan(name: str) -> str:
    """The media type of a plan in the format of this name."""
    return _MEDIA_TYPES_OF_PLANS.get(name) or MEDIA_TYPES.get(name, SOURCE_CODE)


def plan_body(plan: bytes, name: str) -> PlanBody:
    """The body for a plan in the format of this name."""
    return PlanBody(plan, media_type_of_plan(name), f'"{hashlib.sha256(plan).hexdigest()[:32]}"')


def tag_of_view(document: bytes) -> str:
    """The tag of what a page shows of this document, which this version makes of it, before it is made."""
    version = memstow.__version__.encode()
    return f'"{hashlib.sha256(document + b" for the page of " + version).hexdigest()[:32]}"'


def matching_tag(header: str, etag: str) -> str | None:
    """The tag of an If-None-Match that names the same plan, if there is one; compared weakly (RFC 9110)."""
    if header.strip() == "*":
        return etag
    return next((tag for tag in _TAG.findall(header) if tag.removeprefix("W/") == etag), None)


# The body itself, because a hash would take as long as a small solve; and what else the answer depends on,
# of which the query is the last.
RequestKey = tuple[bytes, tuple[str | None, ...]]
RecentPlans = LruCache[RequestKey, PlanBody]


def recent_plans(most_bytes: int) -> RecentPlans:
    """A cache of plans by their requests, limited to this many bytes."""
    return LruCache(most_bytes, lambda key, plan: len(key[0]) + len(key[1][-1] or "") + len(plan.body))


def json_response(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document."""
    return Response(json.dumps(document), status, headers, "application/json")


def document_response(document: Document) -> Response:
    """A document in its format."""
    name = document.format
    kind = _MEDIA_TYPES_OF_PLANS[name] if name in ("json", "zip") else MEDIA_TYPES[name]
    return Response(document.body, media_type=kind)


def job_path(job: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job}"


def job_response(job: Job, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A job."""
    return json_response(job_json(job), status, headers)


def job_json(job: Job) -> JsonObject:
    """A job as JSON."""
    return {
        "id": job.id,
        "state": job.state.value,
        "priority": job.priority,
        "name": job.name,
        "setting": job.setting,
        "batch": job.batch_id,
        "digest": job.digest,
        "buffers": job.buffers,
        "options": json.loads(job.options),
        "created": timestamp(job.created),
        "started": timestamp(job.started),
        "improved": timestamp(job.improved),
        "finished": timestamp(job.finished),
        "expires": timestamp(job.expires),
        "status": job.status,
        "objective": job.term,
        "value": job.value,
        "peak": job.plan_peak,
        "bound": job.bound,
        "gap": job.gap,
        "solver": job.solver,
        "error": job.error,
        "callback": None
        if job.callback is None
        else {**asdict(job.callback), "delivered": timestamp(job.callback.delivered)},
    }
