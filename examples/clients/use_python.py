"""Uses the client that openapi-python-client has made: `python use_python.py URL`. The tests run it."""

import sys
import time

from planner.api.fronts import get_job_front, submit_front
from planner.api.jobs import get_job, get_job_plan, submit_job
from planner.api.plan import plan
from planner.models import Buffer, Front, FrontOptions, Job, Plan, Pool, Problem, SubmitFrontEnvelope

from planner import Client

client = Client(base_url=sys.argv[1], timeout=60.0)
buffers = [
    Buffer(id="a", size=64, lifetime=[0, 2]),
    Buffer(id="b", size=3_000_000_000, lifetime=[1, 3]),
]


def wait(job: Job | object) -> Job:
    assert isinstance(job, Job), job
    while job.state in ("queued", "running"):
        time.sleep(0.05)
        result = get_job.sync(job.id, client=client)
        assert isinstance(result, Job), result
        job = result
    assert job.state == "done", job.error
    return job


answer = plan.sync(client=client, body=Problem(version=1, buffers=buffers), seed=3)
assert isinstance(answer, Plan), answer
print("plan", answer.status, answer.pools[0].peak)

job = wait(submit_job.sync(client=client, body=Problem(version=1, buffers=buffers), name="from python"))
answer = get_job_plan.sync(job.id, client=client)
assert isinstance(answer, Plan), answer
print("job", job.name, answer.status, answer.pools[0].peak)

pools = [Pool(id="fast", capacity=64), Pool(id="slow", cost=4)]
envelope = SubmitFrontEnvelope(
    problem=Problem(version=1, buffers=buffers[:1], pools=pools),
    front=FrontOptions(terms=["peak:fast", "placement_cost"]),
)
job = wait(submit_front.sync(client=client, body=envelope))
front = get_job_front.sync(job.id, client=client)
assert isinstance(front, Front), front
print("front", *[point["peak:fast"] for point in front.points])
