"""The memory for bodies: shared by all requests, returned by each."""

import pytest

from memstow.api.http.bodies import UNCOUNTED, MemoryBudget, Reservation
from memstow.api.http.errors import ApiError


def test_requests_share_what_there_is_and_return_it() -> None:
    budget = MemoryBudget(100)
    one, two = Reservation(budget), Reservation(budget)
    one.add_request(UNCOUNTED + 60)
    with pytest.raises(ApiError, match="body_memory"):
        two.add_request(UNCOUNTED + 41)
    two.add_request(UNCOUNTED + 40)
    assert budget.used == 100
    one.release()
    assert budget.used == 40
    two.release()
    assert budget.used == 0


def test_a_refused_request_can_still_be_answered() -> None:
    budget = MemoryBudget(100)
    one, two = Reservation(budget), Reservation(budget)
    one.add_request(UNCOUNTED + 100)
    with pytest.raises(ApiError):
        two.require_response(UNCOUNTED + 1)
    two.require_response(300)
    assert budget.used == 100


def test_what_is_smaller_than_a_buffer_of_the_connection_is_not_counted() -> None:
    budget = MemoryBudget(1)
    for _ in range(10):
        Reservation(budget).add_request(UNCOUNTED)
    assert budget.used == 0


def test_a_response_is_counted_once_whoever_counts_it() -> None:
    budget = MemoryBudget(1000)
    one = Reservation(budget)
    one.add_request(UNCOUNTED + 10)
    one.require_response(UNCOUNTED + 200)
    one.require_response(UNCOUNTED + 200)
    one.require_response(5)
    assert budget.used == 210


def test_what_is_larger_than_all_memory_is_served_alone() -> None:
    budget = MemoryBudget(10)
    one, two = Reservation(budget), Reservation(budget)
    one.require_response(UNCOUNTED + 1000)
    with pytest.raises(ApiError):
        two.require_response(UNCOUNTED + 1)
    one.release()
    two.require_response(UNCOUNTED + 1)
