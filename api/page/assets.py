"""The files of the page as they were built: a script and a style, named by their content."""

import json
from functools import cache
from pathlib import Path
from typing import Final

BUILT: Final = Path(__file__).parent / "built"

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types memstow"
)
"""What the page may do when the service serves it: nothing from elsewhere, and no script made of text."""


@cache
def manifest() -> dict[str, str]:
    """The names of the `script` and the `style`."""
    names: dict[str, str] = json.loads((BUILT / "manifest.json").read_bytes())
    return names


@cache
def asset(name: str) -> bytes | None:
    """The file of this name, if it belongs to the page."""
    return (BUILT / name).read_bytes() if name in manifest().values() else None


@cache
def served_page() -> bytes:
    """The document that the service serves; it holds no script and no style."""
    names = manifest()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memstow</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/{names["style"]}">
<script src="/page/{names["script"]}" defer></script>
</head>
<body>
<div id="page"><noscript>This page draws with JavaScript. Everything it shows is also in the
<a href="/openapi.json">operations of the service</a>.</noscript></div>
</body>
</html>
""".encode()
