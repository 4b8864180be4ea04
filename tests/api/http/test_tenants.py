"""What one key does tells another nothing and takes nothing from it; and who did what is in the audit log."""

import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http import logs
from memstow.api.http.app import create_app
from memstow.api.http.bodies import UNCOUNTED, MemoryBudget, Reservation
from memstow.api.http.callers import FailedKeys
from memstow.api.http.errors import ApiError
from memstow.api.http.samples import PROBLEM
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.api.operations.request_types import SolveResult
from memstow.api.store.database import Database
from memstow.api.store.job_records import compress
from memstow.api.store.keys import Key, RefusedKey, Role, leave_change
from memstow.api.store.maintenance import upgrade
from memstow.api.store.plan_cache import CachedPlan, PlanCache, bound_cache_of_keys, owned
from tests.api.asking import over, submit
from tests.api.http.callers import Callers
from tests.api.http.conftest import hard, problem_document


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(Settings(data=tmp_path_factory.mktemp("data"), slots=1, anonymous="never"))


@pytest.fixture(scope="module")
def callers(client: TestClient, app: FastAPI) -> Callers:
    return Callers(client, app.state.service)


SLOW = {"time_limit": 0.3, "seed": 3}


def cache_of(client: httpx2.Client, problem: Any = PROBLEM, **options: Any) -> str:
    answer = client.post("/v1/plan", json={"problem": problem, "options": options})
    assert answer.status_code == 200, answer.text
    return str(answer.headers["memstow-cache"])


def test_what_one_key_asked_is_no_hit_for_another(callers: Callers) -> None:
    one, two = callers("one"), callers("two")
    assert [cache_of(one), cache_of(one)] == ["miss", "hit"]
    assert [cache_of(two), cache_of(two)] == ["miss", "hit"]


def test_a_job_of_one_key_is_not_answered_by_that_of_another(callers: Callers, app: FastAPI) -> None:
    """Nor does it start from the plan that the other found."""
    one, two = callers("one"), callers("two")
    service: Service = app.state.service
    problem = hard(150, 81)
    first = over(one, submit(one, problem, **SLOW))
    other = over(two, submit(two, problem, **SLOW))
    jobs = [service.queue.get(entry["id"]) for entry in (first, other)]
    assert None not in jobs
    assert len({job.cache_key for job in jobs if job is not None}) == 2
    assert service.cache.best_of(first["digest"]) is None, "there is none that everyone may have"
    owners = [job.key_id for job in jobs if job is not None]
    assert all(service.cache.best_of(owned(first["digest"], owner)) for owner in owners)
    again = over(one, submit(one, problem, **SLOW))
    assert again["finished"] is not None
    hit = service.cache.find(jobs[0].cache_key) if jobs[0] is not None else None
    assert hit is not None, "the key itself has its plan from the cache"


def test_an_operator_may_share_the_cache(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never", share_cache=True))
    with TestClient(app, base_url="http://localhost") as client:
        callers = Callers(client, app.state.service)
        one, two = callers("one"), callers("two")
        assert [cache_of(one), cache_of(two)] == ["miss", "hit"]


def test_a_key_raises_priority_only_as_far_as_it_was_given(callers: Callers, app: FastAPI) -> None:
    service: Service = app.state.service
    plain = callers("plain")
    _, text = service.keys.create("urgent", more={"max_priority": 5})
    urgent = callers.with_key(text)
    batch = {"problems": [{"problem": PROBLEM}]}
    for client, priority, status in (
        (plain, -100, 202),
        (plain, 0, 202),
        (plain, 1, 422),
        (urgent, 5, 202),
        (urgent, 6, 422),
        (callers("operator", Role.ADMIN), 100, 202),
    ):
        for path, body in (("/v1/jobs", {"problem": PROBLEM}), ("/v1/batches", batch)):
            answer = client.post(path, json={**body, "priority": priority})
            assert answer.status_code == status, (path, priority, answer.text)
            if status == 422:
                assert "max_priority" in problem_document(answer, 422, "over_limit")["detail"]


def test_one_key_fills_half_of_the_memory_for_bodies() -> None:
    budget = MemoryBudget(1000)
    mine, also_mine, other = (Reservation(budget) for _ in range(3))
    for reservation, key in ((mine, "one"), (also_mine, "one"), (other, "two")):
        reservation.charge_to(key)
    mine.add_request(UNCOUNTED + 400)
    with pytest.raises(ApiError) as refused:
        also_mine.add_request(UNCOUNTED + 200)
    assert (refused.value.status, refused.value.code) == (429, "key_memory_full")
    other.add_request(UNCOUNTED + 500)
    mine.release()
    also_mine.add_request(UNCOUNTED + 200)
    also_mine.release()
    other.release()
    assert budget.used == 0


def test_a_body_larger_than_the_share_is_taken_when_it_is_the_only_one() -> None:
    reservation = Reservation(MemoryBudget(1000))
    reservation.charge_to("one")
    reservation.add_request(UNCOUNTED + 900)


def test_plans_of_a_key_stay_within_their_bytes(store_url: str) -> None:
    database = Database(store_url)
    upgrade(database)
    cache = PlanCache(database)
    result = SolveResult(plan=bytes(1000), status="optimal", value=1, bound=1, peak=1, solver="x")
    for number in range(6):
        for owner in ("one", "two" if number < 2 else None):
            name = owned(f"{number}", owner)
            cache.store([CachedPlan(name, result, name, True, owner)])
            time.sleep(0.002)
    size = len(compress(bytes(1000)))
    assert bound_cache_of_keys(database, 3 * size) == 6
    kept = [number for number in range(6) if cache.find(owned(f"{number}", "one")) is not None]
    assert kept == [3, 4, 5]
    assert all(cache.find(owned(f"{number}", "two")) for number in range(2))
    assert all(cache.find(f"{number}") for number in range(2, 6)), "what is everyone's has no such bound"
    assert bound_cache_of_keys(database, 3 * size) == 0
    database.close()


# Keys that open nothing


def asked_with(client: httpx2.Client, text: str) -> httpx2.Response:
    return client.get("/v1/solvers", headers={"authorization": f"Bearer {text}"})


def test_many_wrong_keys_close_an_address_but_not_to_good_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never", failed_keys=3))
    with TestClient(app, base_url="http://localhost") as client:
        service: Service = app.state.service
        callers = Callers(client, service)
        known = callers("known")
        assert known.get("/v1/solvers").status_code == 200
        with structlog.testing.capture_logs() as lines:
            statuses = [asked_with(client, f"msk_nobody{number}_x").status_code for number in range(6)]
        assert statuses == [401, 401, 401, 429, 429, 429]
        assert [line["event"] for line in lines].count("failed_keys") == 1
        refused = asked_with(client, "nonsense")
        problem_document(refused, 429, "too_many_failed_keys")
        assert refused.headers["retry-after"] == "2", "until a good key is known everywhere"
        looked_up: list[str] = []
        find = service.keys.find

        def counted(text: str) -> Key | RefusedKey:
            looked_up.append(text)
            return find(text)

        monkeypatch.setattr(service.keys, "find", counted)
        assert asked_with(client, "msk_nobody_x").status_code == 429
        assert looked_up == [], "the store is not asked"
        assert known.get("/v1/solvers").status_code == 200
        monkeypatch.setattr("memstow.api.http.callers._CACHE_SECONDS", 0.0)
        monkeypatch.setattr("memstow.api.http.callers._CHECK_SECONDS", 0.0)
        assert known.get("/v1/solvers").status_code == 200, "asked of the store again"
        assert callers("new").get("/v1/solvers").status_code == 200, "a good key never seen here"
        guess = service.keys.list()[0].id
        problem_document(asked_with(client, f"msk_{guess}_x"), 429, "too_many_failed_keys")


def test_a_key_that_was_just_made_passes_from_an_address_with_many_wrong_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstow.api.http.callers._CHECK_SECONDS", 1e9)
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never", failed_keys=3))
    with TestClient(app, base_url="http://localhost") as client:
        admin = Callers(client, app.state.service)("operator", Role.ADMIN)
        assert [asked_with(client, f"msk_no{number}_x").status_code for number in range(4)][-1] == 429
        made = admin.post("/v1/keys", json={"name": "new"}).json()
        assert asked_with(client, made["key"]).status_code == 200
        assert asked_with(client, "msk_nobody_x").status_code == 429
        expired = admin.post("/v1/keys", json={"name": "expired"}).json()
        path = f"/v1/keys/{expired['id']}"
        assert app.state.service.keys.change(expired["id"], {"expires": 1.0})
        assert asked_with(client, expired["key"]).status_code == 429
        assert admin.patch(path, json={"expires": None}).status_code == 200
        assert asked_with(client, expired["key"]).status_code == 200


def test_an_address_may_try_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    failed = FailedKeys(2, lambda: now)
    assert [failed.note("10.0.0.1") for _ in range(3)] == [False, True, False]
    assert failed.refuses("10.0.0.1")
    assert not failed.refuses("10.0.0.2")
    now = 61.0
    assert not failed.refuses("10.0.0.1")
    monkeypatch.setattr("memstow.api.http.callers._MOST_ADDRESSES", 2)
    for host in range(5):
        failed.note(f"10.0.1.{host}")
    assert len(failed._failures) == 2
    # One customer has a network of IPv6, not an address.
    failed.note("2001:db8::1")
    failed.note("2001:db8::2")
    assert failed.refuses("2001:db8::3")


# The audit log


class Lines:
    """The audit lines that were written."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []

    def info(self, event: str, **values: Any) -> None:
        self.all.append({"event": event, **values})

    def last(self) -> dict[str, Any]:
        return self.all[-1]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    written = Lines()
    monkeypatch.setattr(logs, "_log", written)
    return written


def test_every_change_is_a_line_with_who_and_what(callers: Callers, app: FastAPI, lines: Lines) -> None:
    service: Service = app.state.service
    made, text = service.keys.create("changer")
    client, admin = callers.with_key(text), callers("operator", Role.ADMIN)
    job = submit(client, PROBLEM)
    assert lines.last() == {
        "event": "audit",
        "operation": "submit_job",
        "outcome": "done",
        "status": 202,
        "key": made.id,
        "address": "testclient",
        "job": job,
    }
    batch = client.post("/v1/batches", json={"problems": [{"problem": PROBLEM}]}).json()["id"]
    assert (lines.last()["operation"], lines.last()["batch"]) == ("submit_batch", batch)
    client.post("/v1/fronts", json={"problem": "no problem"})
    assert (lines.last()["operation"], lines.last()["outcome"]) == ("submit_front", "failed")
    client.delete(f"/v1/jobs/{job}?discard=true")
    assert (lines.last()["operation"], lines.last()["job"]) == ("end_job", job)
    client.delete(f"/v1/jobs/{'0' * 32}")
    assert (lines.last()["operation"], lines.last()["outcome"]) == ("end_job", "failed")
    identity = admin.post("/v1/keys", json={"name": "x"}).json()["id"]
    assert (lines.last()["operation"], lines.last()["affected_key"]) == ("create_key", identity)
    for method, path, operation in (
        ("PATCH", f"/v1/keys/{identity}", "set_key"),
        ("POST", f"/v1/keys/{identity}/rotate", "rotate_key"),
        ("DELETE", f"/v1/keys/{identity}", "revoke_key"),
    ):
        admin.request(method, path, json={} if method != "DELETE" else None)
        last = lines.last()
        assert (last["operation"], last["affected_key"], last["outcome"]) == (operation, identity, "done")
    for action, operation in (("pause", "pause_claims"), ("resume", "resume_claims")):
        admin.post(f"/v1/admin/{action}")
        assert lines.last()["operation"] == operation
    client.post("/v1/admin/pause")
    last = lines.last()
    assert (last["outcome"], last["reason"], last["key"]) == ("refused", "missing_role", made.id)
    assert text not in str(lines.all)


def test_a_refused_key_is_a_line_without_its_text(tmp_path: Path, lines: Lines) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never"))
    with TestClient(app, base_url="http://localhost") as client:
        asked_with(client, "msk_3f2a9c41d07b_secret")
        last = lines.last()
        assert (last["outcome"], last["reason"], last["key"]) == ("refused", "unknown_key", None)
        assert "secret" not in str(lines.all)
        asked_with(client, "a secret of some other service")
        assert (lines.last()["key"], "secret" in str(lines.all)) == (None, False)


def test_the_audit_names_a_refused_key_only_where_its_secret_is_right(
    tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstow.api.http.callers._CACHE_SECONDS", 0.0)
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never", failed_keys=100))
    with TestClient(app, base_url="http://localhost") as client:
        keys = app.state.service.keys
        for reason in ("revoked_key", "expired_key", "rotated_key"):
            key, good = keys.create(reason)
            match reason:
                case "revoked_key":
                    keys.revoke(key.id)
                case "expired_key":
                    keys.change(key.id, {"expires": 1.0})
                case _:
                    keys.rotate(key.id, 0.0)
            answers = []
            for text, output, named in (
                (good, reason, key.id),
                (f"msk_{key.id}_wrong", "unknown_key", None),
            ):
                answers.append(asked_with(client, text))
                assert (lines.last()["reason"], lines.last()["key"]) == (output, named)
            details = {problem_document(answer, 401, "unauthorized")["detail"] for answer in answers}
            assert len(details) == 1, "the client is told nothing of it"


def test_what_the_command_line_changed_is_logged_by_a_server(
    client: TestClient, app: FastAPI, lines: Lines
) -> None:
    service: Service = app.state.service
    leave_change(service._store.database, "revoke_key", affected_key="3f2a9c41d07b")
    assert client.portal is not None
    client.portal.call(service.callers.log_changes)
    assert lines.all == [
        {
            "event": "audit",
            "operation": "revoke_key",
            "outcome": "done",
            "source": "command line",
            "affected_key": "3f2a9c41d07b",
        }
    ]


def test_who_only_looks_is_no_line(callers: Callers, lines: Lines) -> None:
    client = callers("looker")
    client.get("/v1/jobs")
    cache_of(client)
    assert lines.all == []
