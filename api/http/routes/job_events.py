"""What happens to a job, as a stream of events."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from memstow.api.http import schemas
from memstow.api.http.auth import Caller
from memstow.api.http.errors import IS_HEAD, NoMoreEventsError
from memstow.api.http.requests import find_job, require_known, service_of
from memstow.api.store.keys import Role

router = APIRouter(tags=["jobs"])


@dataclass(frozen=True, slots=True)
class _Position:
    """A job, and the number of the last event that the caller has."""

    job: str
    after: int
    caller: Caller


async def _position(
    request: Request,
    job: str,
    last_event_id: Annotated[str | None, Header(description="The last event that was received.")] = None,
) -> _Position:
    """A dependency, because errors and 204 are possible only before the stream begins."""
    require_known(request)
    service = service_of(request)
    caller = await service.caller(request, Role.READ)
    service.require_open()
    found = await find_job(service, caller, job)
    given = last_event_id or ""
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
    if found.over and after:
        last = await service.in_thread(service.events.last_numbers, [found.id])
        if after >= last.get(found.id, 0):
            raise NoMoreEventsError
    return _Position(found.id, after, caller)


@router.get(
    "/v1/jobs/{job}/events",
    operation_id="get_job_events",
    summary="What happens to a job, as it happens",
    description="Server-sent events: `phase`, `incumbent`, `bound`, and `done` at the end. `Last-Event-ID` "
    "resumes; behind the last event the answer is 204, by which a browser knows not to come again.",
    response_class=EventSourceResponse,
    responses={
        200: {
            "description": "The stream.",
            "content": {
                "text/event-stream": {
                    "example": 'id: 3\nevent: incumbent\ndata: {"value": 12288, "seconds": 0.1}\n\n',
                }
            },
        },
        204: {"description": "The job is over, and you have all of its events."},
        **schemas.errors(404),
    },
)
async def events(
    request: Request, position: Annotated[_Position, Depends(_position)]
) -> AsyncIterator[ServerSentEvent]:
    """Follow."""
    service = service_of(request)
    if request.scope.get(IS_HEAD):
        # The headers are all there is to send.
        return
    service.metrics.streams.inc()
    try:
        with service.callers.watch(position.caller) as watch:
            yield ServerSentEvent(comment="memstow", retry=1000)
            async for event in service.hub.follow(position.job, position.after, lambda: watch.ended):
                yield ServerSentEvent(id=str(event.number), event=event.kind, raw_data=event.data)
    finally:
        service.metrics.streams.dec()
