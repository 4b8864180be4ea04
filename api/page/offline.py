"""A view document as one file that works offline: the page and its data, compressed, loading nothing.

Of many pages beside each other, what they have in common can be a file that each of them loads.
"""

import base64
import gzip
import hashlib
import json
import string
from functools import cache
from html import escape
from typing import Final, Literal

from memstow.api.page.assets import asset, manifest

Kind = Literal["plan", "loops", "front", "symbols"]
_PROGRAMS: Final[dict[Kind, str]] = {
    "plan": "alone",
    "loops": "alone_loops",
    "front": "alone_front",
    "symbols": "alone_symbols",
}
"""The script of each kind of document: most files need nothing of loops, fronts and symbols."""
_DIGITS: Final = "".join(
    (string.digits, string.ascii_uppercase, string.ascii_lowercase, "!#$%&()*+-;,=>?@^_`{|}~")
)
"""Those of `base64.b85encode` but for `<`, which could begin a tag."""

_START: Final = """(async()=>{
const types=globalThis.trustedTypes;
const rules={createScript:(text)=>text};
const policy=types?types.createPolicy("memstow-start",rules):rules;
const text=globalThis.memstowPacked??document.getElementById("packed").textContent;
const digits="DIGITS";
const packed=new Uint8Array(text.length*4/5);
for(let at=0,to=0;at<text.length;at+=5){
let value=0;
for(let place=at;place<at+5;place++)value=value*85+(place<text.length?digits.indexOf(text[place]):84);
for(let shift=24;shift>=0;shift-=8)packed[to++]=value>>>shift;
}
const stream=new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const script=document.createElement("script");
script.text=policy.createScript(await new Response(stream).text());
document.head.append(script);
})();""".replace("DIGITS", _DIGITS)
"""Unpacks the script of the page and runs it: four bytes are five digits, since the page must stay small."""


def page_alone(document: bytes, title: str, kind: Kind = "plan", folder: str | None = None) -> bytes:
    """The page that draws this view document. The same input gives the same bytes.

    folder: where, from the page, the file of `shared_script` is, which then is not in the page.
    """
    script, style = _script(kind)
    load = "" if folder is None else " 'self' file:"
    policy = (
        f"default-src 'none'; script-src {_hash(_START.encode())} {_hash(script)}{load}; "
        f"style-src {_hash(style)}; "
        "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types memstow memstow-start"
    )
    head = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="page"><noscript>This page draws with JavaScript; it loads nothing and sends nothing.</noscript></div>
<script type="text/plain" id="held">"""
    if folder is None:
        program = b'<script type="text/plain" id="packed">%s</script>' % _packed(script)
    else:
        program = f'<script src="{escape(folder)}{shared_script(kind)[0]}"></script>'.encode()
    return b"".join(
        (
            head.encode(),
            base64.b64encode(_gzipped(document)),
            b"</script>\n",
            program,
            b"\n<script>",
            _START.encode(),
            b"</script>\n</body>\n</html>\n",
        )
    )


def shared_script(kind: Kind) -> tuple[str, bytes]:
    """The name and the content of what pages of this kind have in common."""
    content = b'globalThis.memstowPacked="%s";\n' % _packed(_script(kind)[0])
    return f"{_PROGRAMS[kind]}-{hashlib.sha256(content).hexdigest()[:12]}.js", content


@cache
def _script(kind: Kind) -> tuple[bytes, bytes]:
    """The script, which holds the style as well, and the style."""
    names = manifest()
    program, style = asset(names[_PROGRAMS[kind]]), asset(names["style"])
    if program is None or style is None:
        raise FileNotFoundError("the page has not been built: run `make page`")
    # The style is compressed with the script, which is also that of the worker.
    element = f"Object.assign(document.createElement('style'),{{textContent:{json.dumps(style.decode())}}})"
    return f"typeof document==='undefined'||document.head.append({element});\n".encode() + program, style


@cache
def _packed(script: bytes) -> bytes:
    return base64.b85encode(_gzipped(script)).replace(b"<", b",")


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _hash(content: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
