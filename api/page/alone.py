"""A plan as one file that works offline: the page and its data, compressed, in a document that loads nothing.

Its policy names its scripts and its style by their hashes, so nothing else runs in it whatever the data says.
The data is text in base64 and reaches the page through a worker: no name of a buffer is part of the document.
"""

import base64
import gzip
import hashlib
import json
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Final, Literal

from memstow.api.page.assets import asset, manifest

_DIGITS: Final = "".join(
    (string.digits, string.ascii_uppercase, string.ascii_lowercase, "!#$%&()*+-;,=>?@^_`{|}~")
)
"""Those of `base64.b85encode` but for `<`, which could begin a tag."""

_START: Final = """(async()=>{
const types=globalThis.trustedTypes;
const rules={createScript:(text)=>text};
const policy=types?types.createPolicy("memstow-start",rules):rules;
const text=document.getElementById("packed").textContent;
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


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A better plan or a better bound, and when in the run it came."""

    seconds: float
    value: int | None
    bound: int | None
    solver: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Another plan of the same problem, as JSON, and what both are called."""

    plan: bytes
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The graph of the problem, as JSON, and the terms whose bounds over all orders the judge has checked."""

    graph: bytes
    judged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PointPlans:
    """What the plans of a front are for, as JSON: problems, or graphs that run as they are listed."""

    kind: Literal["problems", "graphs"]
    documents: tuple[bytes, ...]
    of: tuple[int | None, ...]
    """For each point the index of its document; None: the page does not hold its plan."""
    keeps_order: bool = False
    """Whether it is the front of a graph whose operators run as they are listed, although others may be."""

    def fields(self) -> dict[str, bytes]:
        """What the page reads of it."""
        made = {self.kind: b"[" + b",".join(self.documents) + b"]", "of": json.dumps(self.of).encode()}
        return made | ({"keeps_order": b"true"} if self.keeps_order else {})


def page_alone(
    problem: bytes,
    plan: bytes,
    title: str,
    search: Iterable[SearchStep] = (),
    *,
    other: Comparison | None = None,
    ordered: Ordered | None = None,
    shortfalls: bytes = b"[]",
) -> bytes:
    """The page of this problem and this plan, both as JSON. The same input gives the same bytes.

    `shortfalls`: which buffers must change for smaller peaks, as JSON.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "problem": problem,
        "plan": plan,
        "search": json.dumps([asdict(step) for step in search]).encode(),
    }
    if shortfalls != b"[]":
        fields["shortfalls"] = shortfalls
    if other is not None:
        fields |= {"other": other.plan, "names": json.dumps(other.names).encode()}
    if ordered is not None:
        fields |= {"graph": ordered.graph, "judged": json.dumps(ordered.judged).encode()}
    return _page(title, fields, "alone")


def front_alone(
    front: bytes, plans: PointPlans, told: Sequence[str | None], title: str, first: int | None = None
) -> bytes:
    """The page of this front, as JSON, that opens at the point of this index.

    `told` is what the judge says against each point.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "front": front,
        **plans.fields(),
        "told": json.dumps(told).encode(),
    }
    if first is not None:
        fields["first"] = str(first).encode()
    return _page(title, fields, "alone_front")


def symbols_alone(
    problem: bytes, plan: bytes, judged: str, counted: str, title: str, at: Mapping[str, int]
) -> bytes:
    """The page of this plan of formulas, both as JSON, that begins at these values.

    `judged` is what the judge says against the plan, and `counted` how it has checked that nothing fits;
    empty: nothing, and it has not.
    """
    fields = {
        "name": json.dumps(title).encode(),
        "symbolic": problem,
        "formed": plan,
        "judged": json.dumps(judged).encode(),
    }
    if counted:
        fields["counted"] = json.dumps(counted).encode()
    if at:
        fields["at"] = json.dumps(dict(at)).encode()
    return _page(title, fields, "alone_symbols")


def _page(title: str, fields: Mapping[str, bytes], program_name: str) -> bytes:
    names = manifest()
    program, style = asset(names[program_name]), asset(names["style"])
    if program is None or style is None:
        raise FileNotFoundError("the page has not been built: run `make page`")
    script = _styled(style) + program
    data = b"{" + b", ".join(b'"%s": %s' % (field.encode(), it) for field, it in fields.items()) + b"}"
    policy = (
        f"default-src 'none'; script-src {_hash(_START.encode())} {_hash(script)}; style-src {_hash(style)}; "
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
    return b"".join(
        (
            head.encode(),
            _packed(data),
            b'</script>\n<script type="text/plain" id="packed">',
            base64.b85encode(_gzipped(script)).replace(b"<", b","),
            b"</script>\n<script>",
            _START.encode(),
            b"</script>\n</body>\n</html>\n",
        )
    )


def _styled(style: bytes) -> bytes:
    """Applies the style: it is compressed with the script, which is also that of the worker."""
    made = f"Object.assign(document.createElement('style'),{{textContent:{json.dumps(style.decode())}}})"
    return f"typeof document==='undefined'||document.head.append({made});\n".encode()


def _packed(content: bytes) -> bytes:
    return base64.b64encode(_gzipped(content))


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _hash(content: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
