"""A plan as one file: it holds everything, loads nothing, and runs nothing but the page."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence

from memstow.api.page.offline import page_alone, shared_script
from memstow.planner.formats import read_plan, read_problem
from memstow.planner.show.view_document import SearchStep, plan_document

HOSTILE = "</script><img src=x onerror=alert(1)>"
PROBLEM = json.dumps({"version": 1, "buffers": [{"id": HOSTILE, "size": 1, "lifetime": [0, 1]}]}).encode()
PLAN = json.dumps(
    {"status": "feasible", "placements": [{"buffer": HOSTILE, "pool": "memory", "offset": 0}]}
).encode()


def page_of(title: str, search: Sequence[SearchStep] = ()) -> bytes:
    """The page of both."""
    problem = read_problem(PROBLEM)
    return page_alone(plan_document(problem, problem, read_plan(PLAN, problem), title, search), title)


def _parts(page: bytes, kind: str) -> str:
    match = re.search(rf'<script type="text/plain" id="{kind}">([^<]*)</script>', page.decode())
    assert match is not None
    return match.group(1)


def test_the_data_is_inside_and_complete() -> None:
    page = page_of("one", [SearchStep(0.5, 3, None, "greedy")])
    held = json.loads(gzip.decompress(base64.b64decode(_parts(page, "held"))))
    assert held["name"] == "one"
    assert held["version"] == 1
    assert read_problem(json.dumps(held["problem"]).encode()) == read_problem(PROBLEM)
    assert held["plan"]["placements"] == json.loads(PLAN)["placements"]
    assert held["verdict"]["lead"] == "1 B."
    assert held["search"] == [{"seconds": 0.5, "value": 3, "bound": None, "solver": "greedy"}]


def test_names_are_never_part_of_the_document() -> None:
    page = page_of(HOSTILE).decode()
    assert "<img" not in page
    assert page.count("</script>") == 3


def test_nothing_runs_but_what_the_policy_names_by_its_hash() -> None:
    page = page_of("one").decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "unsafe" not in policy.group(1)
    assert policy.group(1).startswith("default-src 'none'")
    packed = _parts(page.encode(), "packed")
    # No letter of it can begin a tag.
    assert "<" not in packed
    script = gzip.decompress(base64.b85decode(packed.replace(",", "<"))).decode()
    style = re.match(r"typeof document==='undefined'\|\|.*\{textContent:(\".*?\")\}\)\);\n", script)
    assert style is not None
    inline = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for content in (*inline, script, json.loads(style.group(1))):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy.group(1)


def test_nothing_is_loaded() -> None:
    page = page_of("one").decode()
    assert re.findall(r'(?:src|href)="(?!data:,")', page) == []


def test_pages_beside_each_other_share_what_they_have_in_common() -> None:
    problem = read_problem(PROBLEM)
    document = plan_document(problem, problem, read_plan(PLAN, problem), "one")
    page = page_alone(document, "one", folder="../shared/").decode()
    name, content = shared_script("plan")
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,", f"../shared/{name}"]
    assert hashlib.sha256(content).hexdigest()[:12] in name
    assert _parts(page_of("one"), "packed") in content.decode()
    assert 'id="packed"' not in page
    assert len(page) < 8 * 1024
    assert "unsafe" not in page.partition("Content-Security-Policy")[2].partition(">")[0]


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert page_of("one") == page_of("one")


def test_the_page_around_the_data_is_small() -> None:
    page = page_of("one")
    assert len(page) - len(_parts(page, "held")) <= 84 * 1024
