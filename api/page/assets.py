"""The files of the page as they were built, named by their content.

`alone` and `style` are those of a page of its own. That of the service comes in parts: `served` loads what a
place needs, such as the `editor`; `worker` reads files.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final, TypedDict

BUILT: Final = Path(__file__).parent / "built"

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types memstow"
)
"""What the page may do when the service serves it: nothing from elsewhere, and no script made of text."""


class _Manifest(TypedDict):
    files: dict[str, str]
    first: list[str]
    parts: list[str]


@cache
def _manifest() -> _Manifest:
    entries: _Manifest = json.loads((BUILT / "manifest.json").read_bytes())
    return entries


def manifest() -> dict[str, str]:
    """The names of the files that are known by what they are."""
    return _manifest()["files"]


def first_parts() -> list[str]:
    """The parts that the script of the service loads at once."""
    return _manifest()["first"]


@cache
def asset(name: str) -> bytes | None:
    """The file of this name, if it belongs to the page."""
    return (BUILT / name).read_bytes() if name in _manifest()["parts"] else None


@cache
def served_page() -> bytes:
    """The document that the service serves; it holds no script and no style."""
    names = manifest()
    preloads = "".join(f'<link rel="modulepreload" href="/page/{name}">\n' for name in first_parts())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memstow</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/{names["served_style"]}">
{preloads}<script type="module" src="/page/{names["served"]}"
  data-worker="/page/{names["worker"]}"></script>
</head>
<body>
<div id="page"><noscript>This page draws with JavaScript. Everything it shows is also in the
<a href="/openapi.json">operations of the service</a>.</noscript></div>
</body>
</html>
""".encode()
