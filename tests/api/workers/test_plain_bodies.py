"""Small plain problems are answered in columns: every body has the answer that it has with objects."""

import json
import random
from dataclasses import replace
from typing import cast

import pytest

from memstow.api.metrics import Metrics
from memstow.api.operations import body as reader
from memstow.api.operations.request_types import BodyForm, Limits, ValidatedRequest
from memstow.api.store.plan_cache import CacheWriter, PlanCache
from memstow.api.workers import quick_solve
from memstow.api.workers.quick_solve import Answer, FastPath
from memstow.planner.model.errors import InputError, Issue
from tests.planner.plain.samples import mutated, random_sample

LIMITS = Limits(
    max_buffers=60,
    max_values=4000,
    max_time_limit=50.0,
    max_workers=2,
    solve_memory=1 << 30,
    max_batch=9,
)
ALONE = BodyForm(shapes={})
BUFFER = '{"id": "a", "size": 4, "lifetime": [0, 2]}'
PROBLEM = f'{{"version": 1, "buffers": [{BUFFER}]}}'
OPTIONS = (
    "{}",
    '{"time_limit": 3, "seed": 7}',
    '{"solver": "first-fit"}',
    '{"solver": "exact", "gap": 0.5}',
    '{"solver": "cpsat"}',
    '{"solver": "nothing"}',
    '{"deterministic": true, "work_limit": 2000}',
    '{"time_limit": 51}',
    '{"workers": true}',
    '{"hint": {"status": "feasible", "placements": []}}',
    '{"seed": 1, "seed": 2}',
    '{"gap": NaN}',
    '{"seed": 1} 2',
    "\ufeff{}",
    "null",
    "[]",
)


class _Nothing:
    """A cache that knows nothing and keeps nothing, and its writer."""

    def proven_answer(self, _key: str) -> None: ...
    def remember_proven(self, *_: object) -> None: ...
    def answer(self, *_: object) -> None: ...
    def best_of(self, _digest: str) -> None: ...
    def write(self, _plan: object) -> None: ...


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven must not depend on how busy the machine is."""
    monkeypatch.setattr(quick_solve, "_FIRST_SECONDS", 20.0)


def attempt(body: bytes, form: BodyForm, limits: Limits = LIMITS) -> object:
    """What becomes of a body: an answer, a job, or everything that is wrong with it."""
    cache, writer = cast(PlanCache, _Nothing()), cast(CacheWriter, _Nothing())
    fast = FastPath(cache, writer, 20.0, 50, Metrics())
    try:
        attempted = fast.attempt(body, form, limits, "json", False, None)
    except InputError as error:
        return tuple(error.issues)
    if isinstance(attempted, ValidatedRequest):
        return attempted
    # How long it took is not the same twice.
    lines = [part for part in attempted.plan.split(b"\n") if not part.startswith(b'  "seconds"')]
    return replace(attempted, plan=b"\n".join(lines))


def both(monkeypatch: pytest.MonkeyPatch, body: bytes, form: BodyForm) -> tuple[object, bool]:
    """The same in both ways, and whether it was read in columns."""
    in_columns = reader.plain_body(body, form, LIMITS) is not None
    attempted = attempt(body, form)
    with monkeypatch.context() as patched:
        patched.setattr(quick_solve, "plain_body", lambda *_: None)
        assert attempted == attempt(body, form)
    return attempted, in_columns


@pytest.mark.parametrize("block", range(3))
def test_random_bodies(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    odd = random.Random(block)
    kinds = []
    for seed in range(1000 + 60 * block, 1060 + 60 * block):
        sample = random_sample(seed)
        form, body = ALONE, sample.json()
        kind = odd.random()
        if kind < 0.2:
            form, body = replace(ALONE, format="csv"), sample.csv()
        elif kind < 0.3:
            form = replace(ALONE, format=odd.choice(("json", "usmp", "graph")))
        elif kind < 0.8:
            problem = body.decode("utf-8-sig")
            members = [f'"problem": {problem}']
            if odd.random() < 0.7:
                members.append(f'"options": {odd.choice(OPTIONS)}')
            if odd.random() < 0.1:
                members.append(
                    odd.choice(('"target": "rp2040"', '"problem": {}', '"hint": null', '"name": 1'))
                )
            odd.shuffle(members)
            body = f"{{{', '.join(members)}}}".encode()
        if odd.random() < 0.3:
            body = mutated(body, odd)
        if odd.random() < 0.2:
            form = replace(form, options=odd.choice(({"time_limit": 2.5}, {"seed": True}, {"seed": 1})))
        result, in_columns = both(monkeypatch, body, form)
        kinds.append((type(result), in_columns))
    assert (Answer, True) in kinds
    assert (tuple, False) in kinds
    assert (tuple, True) not in kinds


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\ufeff" + PROBLEM,
        "\ufeff\ufeff" + PROBLEM,
        PROBLEM + "x",
        PROBLEM + PROBLEM,
        f"[{PROBLEM}]",
        f'{{"problem": {PROBLEM}, "problem": {PROBLEM}}}',
        f'{{"problem": {PROBLEM}, "options": {{}}, "options": {{}}}}',
        f'{{"pr\\u006fblem": {PROBLEM}}}',
        f'{{"problem": {PROBLEM}, "options": {{}}]}}',
        f'{{"problem": {PROBLEM}, "options": {{"seed": 1}}, }}',
        f'{{"problem": {PROBLEM}, "options": {{"seed": {"[" * 5000}}}}}',
        f'{{"problem": {PROBLEM}, "options": {{"seed": 1{"0" * 5000}}}}}',
        f'{{"options": {{"time_limit": 1e400}}, "problem": {PROBLEM}}}',
        f'{{"options": {{"solver": "\\ud800"}}, "problem": {PROBLEM}}}',
        f'{{"problem": {json.dumps(PROBLEM)}}}',
        f'{{"problem": {{"problem": {PROBLEM}}}}}',
        f'{{"version": 1, "options": {{}}, "buffers": [{BUFFER}]}}',
        f'{{"problem": {PROBLEM}, "version": 1}}',
        PROBLEM.replace("4", "4.0"),
        PROBLEM.replace("4", "4e0"),
        PROBLEM.replace("4", "-0"),
        PROBLEM.replace("4", "04"),
        PROBLEM.replace("4", "true"),
        PROBLEM.replace("4", "NaN"),
        PROBLEM.replace("4", "9223372036854775808"),
        PROBLEM.replace("4", "4611686018427387905"),
        PROBLEM.replace('"size"', '"size": 3, "size"'),
        PROBLEM.replace('"version": 1', '"version": 1.0'),
        PROBLEM.replace('"version": 1', '"version": true'),
        PROBLEM.replace("[0, 2]", "[2, 0]"),
        PROBLEM.replace(BUFFER, f"{BUFFER}, {BUFFER}"),
        PROBLEM.replace(BUFFER, ", ".join(BUFFER.replace("a", str(i)) for i in range(61))),
        PROBLEM.replace('"a"', '"' + "a" * 1025 + '"'),
        PROBLEM.replace('"a"', '"\\ud83d"'),
        PROBLEM.replace('"a"', '"\\u0000"'),
        PROBLEM.replace("{", "{" + " " * 4000),
    ],
)
def test_odd_bodies(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    both(monkeypatch, body.encode(), ALONE)


def test_any_plan_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty objective is not the default one: the first plan that fits is as good as any."""
    plain = 0
    for seed in range(30):
        body = json.loads(random_sample(seed).json()) | {"objective": []}
        result, in_columns = both(monkeypatch, json.dumps(body).encode(), ALONE)
        plain += in_columns
        if isinstance(result, Answer):
            assert b'"objective"' not in result.plan
    assert plain > 15


def test_bytes_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for odd in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00"):
        for body in (odd, odd + PROBLEM.encode(), PROBLEM.encode().replace(b'"a"', b'"a' + odd + b'"')):
            assert not both(monkeypatch, body, ALONE)[1]


def test_what_an_equal_option_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """1, 1.0 and true are equal keys of a cache in Python, and are not equally right."""
    for value in (1, True, 1.0, True, 1):
        result, _ = both(monkeypatch, PROBLEM.encode(), replace(ALONE, options={"seed": value}))
        assert isinstance(result, Answer) == (type(value) is int)


def test_a_request_that_asks_for_more_is_read_with_objects() -> None:
    body = PROBLEM.encode()
    assert reader.plain_body(body, ALONE, LIMITS) is not None
    for more in ({"changes": {"target": "rp2040"}}, {"members": ("priority",)}, {"shapes": {"pieces": 2}}):
        assert reader.plain_body(body, replace(ALONE, **more), LIMITS) is None
    assert reader.plain_body(body, ALONE, replace(LIMITS, max_values=10)) is None
    assert reader.plain_body(body, ALONE, replace(LIMITS, max_buffers=0)) is None


def test_what_is_not_proven_at_once_becomes_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_solve, "_FIRST_SECONDS", 0.0)
    attempted = attempt(PROBLEM.encode(), ALONE)
    assert isinstance(attempted, Answer)
    assert b'"status": "optimal"' in attempted.plan
    assert isinstance(attempt(PROBLEM.replace("[0, 2]", "[0, 0]").encode(), ALONE), tuple)
    assert all(isinstance(entry, Issue) for entry in cast(tuple[object, ...], attempt(b"{}", ALONE)))


def test_what_is_answered_at_once_is_the_answer_of_an_attempt() -> None:
    kinds = set()
    for seed in range(2000, 2060):
        body = random_sample(seed).json()
        cache, writer = cast(PlanCache, _Nothing()), cast(CacheWriter, _Nothing())
        fast = FastPath(cache, writer, 20.0, 50, Metrics())
        result = fast.at_once(body, ALONE, LIMITS, "json", False, None)
        kinds.add(result is None)
        if result is not None:
            lines = [part for part in result.plan.split(b"\n") if not part.startswith(b'  "seconds"')]
            assert replace(result, plan=b"\n".join(lines)) == attempt(body, ALONE)
    assert kinds == {True, False}


@pytest.mark.parametrize(
    ("to", "fresh", "options"),
    [("csv", False, {}), ("json", True, {}), ("json", False, {"deterministic": True})],
)
def test_what_needs_objects_or_takes_longer_is_not_answered_at_once(
    to: str, fresh: bool, options: dict[str, bool]
) -> None:
    cache, writer = cast(PlanCache, _Nothing()), cast(CacheWriter, _Nothing())
    fast = FastPath(cache, writer, 20.0, 50, Metrics())
    body = PROBLEM.encode()
    assert fast.at_once(body, ALONE, LIMITS, "json", False, None) is not None
    assert fast.at_once(body, replace(ALONE, options=options), LIMITS, to, fresh, None) is None
    assert fast.at_once(body + b" " * (1 << 14), ALONE, LIMITS, "json", False, None) is None


class _Remembers(_Nothing):
    """A cache that has one plan for every request."""

    def __init__(self, plan: bytes) -> None:
        self.plan = plan

    def proven_answer(self, _key: str) -> bytes:  # type: ignore[override]
        return self.plan


def test_a_known_plan_is_sent_at_once_where_its_order_is_right() -> None:
    two = BUFFER + ", " + BUFFER.replace("a", "b", 1)
    turned = BUFFER.replace("a", "b", 1) + ", " + BUFFER
    body, other = (PROBLEM.replace(BUFFER, listed).encode() for listed in (two, turned))
    writer = cast(CacheWriter, _Nothing())
    first = FastPath(cast(PlanCache, _Nothing()), writer, 20.0, 50, Metrics())
    answer = first.at_once(body, ALONE, LIMITS, "json", False, None)
    assert answer is not None
    assert not answer.cached
    second = FastPath(cast(PlanCache, _Remembers(answer.plan)), writer, 20.0, 50, Metrics())
    assert second.at_once(body, ALONE, LIMITS, "json", False, None) == replace(answer, cached=True)
    assert second.at_once(other, ALONE, LIMITS, "json", False, None) is None
    ordered = second.attempt(other, ALONE, LIMITS, "json", False, None)
    assert isinstance(ordered, Answer)
    assert ordered.cached
    names = [place["buffer"] for place in json.loads(ordered.plan)["placements"]]
    assert names == ["b", "a"]
