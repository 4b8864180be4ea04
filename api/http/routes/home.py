"""`/`: a plain page with links, until there is more; and the document of every operation."""

from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

import memstow
from memstow.api.http import schemas
from memstow.api.http.requests import require_known
from memstow.api.http.responses import json_response

router = APIRouter(tags=["start"])

_HERE = "HOST"
_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memstow</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
pre {{ background: #f3f3f3; padding: 1rem; overflow: auto }}</style>
</head>
<body>
<h1>memstow {memstow.__version__}</h1>
<p>Plans where every buffer of a program lives in memory. Send a problem, get a plan:</p>
<pre>curl -s {_HERE}/v1/examples/first |
  curl -s -H 'Content-Type: application/json' --data-binary @- {_HERE}/v1/plan</pre>
<ul>
<li><a href="/openapi.json">every operation</a>, as OpenAPI</li>
<li><a href="/v1/examples">examples</a>, ready to be sent</li>
<li><a href="/v1/schema">the schema of a problem</a>, <a href="/v1/schema?kind=plan">of a plan</a></li>
<li><a href="/v1/solvers">solvers</a></li>
<li><a href="/v1/jobs">jobs</a></li>
<li><a href="/readyz">ready?</a> <a href="/metrics">figures</a></li>
</ul>
</body>
</html>
"""


@router.get(
    "/",
    operation_id="start",
    openapi_extra=schemas.WITHOUT_KEY,
    summary="A page with links",
    response_class=HTMLResponse,
    responses=schemas.answers(200, "The page.", "<!doctype html>", {"type": "string"}, "text/html"),
)
async def start(request: Request) -> HTMLResponse:
    """The page, with commands for the address that it was asked for at."""
    require_known(request)
    return HTMLResponse(_PAGE.replace(_HERE, escape(request.url.netloc)))


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Every operation, as OpenAPI."""
    require_known(request)
    return json_response(request.app.openapi())
