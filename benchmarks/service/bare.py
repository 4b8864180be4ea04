"""A bare FastAPI route that validates the body of `POST /v1/plan` and echoes it: the framework's cost."""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem


class Body(BaseModel):
    """The envelope of `POST /v1/plan`."""

    problem: Problem
    options: Options = Options()


app = FastAPI()


@app.post("/echo")
async def echo(body: Body) -> Body:
    """What came, as it was understood."""
    return body


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), http="httptools", log_level="critical", access_log=False)
