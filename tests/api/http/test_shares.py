"""Whose turn it is, counted and not timed: everything here is decided by who asks and who gives back."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from memstow.api.http.errors import ApiError
from memstow.api.http.fair_threads import FairSlots, Threads


class Work:
    """Pieces of work that hold a slot until they are told to end."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.served: list[str] = []
        self.refused: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def ask(self, *names: str) -> None:
        """Ask for slots; the share is the letter of a name."""
        for name in names:
            self.tasks.append(asyncio.create_task(self._hold(name)))
            await settle()

    async def end(self, *names: str) -> None:
        """End these."""
        for name in names:
            self._ends[name].set()
            await settle()

    async def end_one_by_one(self) -> None:
        """End what has a slot, in the order in which it was served, until nothing is left."""
        for name in self.served:
            await self.end(name)
        await asyncio.gather(*self.tasks)

    async def _hold(self, name: str) -> None:
        self._ends[name] = asyncio.Event()
        try:
            async with self.slots.slot(name[0]):
                self.served.append(name)
                await self._ends[name].wait()
        except ApiError as error:
            self.refused.append(f"{name} {error.code}")


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def test_who_asks_often_does_not_keep_others_waiting() -> None:
    async def test() -> None:
        work = Work(FairSlots(1, 100))
        await work.ask("a1", "a2", "a3", "a4", "b1", "c1", "b2")
        await work.end_one_by_one()
        assert work.served == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]

    run(test)


def test_a_free_slot_goes_to_who_has_none() -> None:
    async def test() -> None:
        work = Work(FairSlots(2, 100))
        await work.ask("a1", "a2", "a3", "b1")
        await work.end("a1")
        assert work.served == ["a1", "a2", "b1"]
        await work.end("a2")
        assert work.served == ["a1", "a2", "b1", "a3"]

    run(test)


def test_one_share_has_no_more_than_its_part_though_nobody_else_asks() -> None:
    async def test() -> None:
        work = Work(FairSlots(2, 100, most_each=1))
        await work.ask("a1", "a2")
        assert work.served == ["a1"]
        await work.ask("b1")
        assert work.served == ["a1", "b1"]
        await work.end("a1")
        assert work.served == ["a1", "b1", "a2"]

    run(test)


def test_where_no_more_may_wait_the_share_with_the_most_is_refused() -> None:
    async def test() -> None:
        work = Work(FairSlots(1, 3))
        await work.ask("a1", "a2", "a3", "a4", "a5")
        assert work.refused == ["a5 busy"]
        await work.ask("b1")
        assert work.refused == ["a5 busy", "a4 busy"], "the newest of those who wait most makes room"
        await work.ask("c1")
        assert work.refused == ["a5 busy", "a4 busy", "a3 busy"]
        await work.ask("d1")
        assert work.refused == ["a5 busy", "a4 busy", "a3 busy", "d1 busy"], "nobody waits with more than one"
        await work.end_one_by_one()
        assert work.served == ["a1", "a2", "b1", "c1"]

    run(test)


@pytest.mark.parametrize("moment", ["waiting", "just served", "about to be served"])
def test_who_goes_away_leaves_their_slot_to_the_next(moment: str) -> None:
    async def test() -> None:
        work = Work(FairSlots(1, 100))
        await work.ask("a1", "b1", "c1")
        if moment == "waiting":
            work.tasks[1].cancel()
            await work.end("a1")
        elif moment == "just served":
            work._ends["a1"].set()
            await asyncio.sleep(0)
            work.tasks[1].cancel()
            await settle()
        else:
            work.tasks[1].cancel()
            work._ends["a1"].set()
            await settle()
        assert work.served[-1] == "c1"
        await work.end("c1")
        await work.ask("d1")
        assert work.served[-1] == "d1"

    run(test)


def test_it_is_known_whether_others_wait() -> None:
    async def test() -> None:
        work = Work(FairSlots(1, 100))
        await work.ask("a1", "a2")
        assert not work.slots.others_wait("a")
        assert work.slots.others_wait("b")
        await work.ask("b1")
        assert work.slots.others_wait("a")

    run(test)


class Clock:
    """A loop whose time goes on only when it is told to; its timers fire then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time()
        self._timers: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(loop, "time", lambda: self._now)
        monkeypatch.setattr(loop, "call_at", lambda when, call: self._timers.append((when, call)))

    async def pass_by(self, seconds: float) -> None:
        """Let this time pass."""
        self._now += seconds
        due = [timer for timer in self._timers if timer[0] <= self._now]
        self._timers = [timer for timer in self._timers if timer[0] > self._now]
        for _, call in due:
            call()
        await settle()


async def work_for(work: Work, clock: Clock, name: str, seconds: float) -> None:
    """One piece of work from its beginning to its end."""
    await work.ask(name)
    assert work.served[-1] == name
    await clock.pass_by(seconds)
    await work.end(name)


def test_who_works_much_leaves_a_slot_free_while_others_are_present(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock(monkeypatch)
        work = Work(FairSlots(2, 100))
        await work_for(work, clock, "a1", 3.0)
        await work.ask("a2", "a3")
        assert work.served == ["a1", "a2", "a3"], "nobody else is there"
        await work.end("a2", "a3")
        await work_for(work, clock, "b1", 0.1)
        await work.ask("a4", "a5")
        assert work.served[-1] == "a4"
        await work.ask("b2")
        assert work.served[-1] == "b2", "who works little finds a free slot"
        await work.end("b2")
        assert work.served[-1] == "b2"
        await work.end("a4")
        assert work.served[-1] == "a5"

    run(test)


def test_who_works_little_keeps_all_slots_beside_who_works_much(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock(monkeypatch)
        work = Work(FairSlots(2, 100, rests=True))
        await work_for(work, clock, "a1", 3.0)
        await work_for(work, clock, "b1", 0.1)
        await work.ask("b2", "b3")
        assert work.served == ["a1", "b1", "b2", "b3"]

    run(test)


def test_who_works_much_rests_while_others_are_present(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock(monkeypatch)
        work = Work(FairSlots(1, 100, rests=True))
        await work_for(work, clock, "a1", 3.0)
        await work_for(work, clock, "a2", 1.0)
        await work_for(work, clock, "b1", 0.1)
        await work_for(work, clock, "a3", 1.0)
        await work.ask("a4")
        await work_for(work, clock, "b2", 0.1)
        await clock.pass_by(2.5)
        assert work.served[-1] == "b2", "three seconds for one are not over"
        await work_for(work, clock, "b3", 0.1)
        await clock.pass_by(0.4)
        assert work.served[-1] == "a4"

    run(test)


def test_two_that_work_much_have_about_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock(monkeypatch)
        work = Work(FairSlots(2, 100, rests=True))
        served = 0
        for turn in range(40):
            await work.ask(f"a{turn}", f"b{turn}")
            await clock.pass_by(0.5)
            for name in work.served[served:]:
                served += 1
                await work.end(name)
        shares = [sum(name.startswith(letter) for name in work.served) for letter in "ab"]
        assert sum(shares) > 20, "at least one of them works"
        assert min(shares) > sum(shares) / 3
        for task in work.tasks:
            task.cancel()

    run(test)


def test_who_works_little_waits_for_no_thread_where_none_is_needed() -> None:
    async def test() -> None:
        threads = Threads(1, 10)
        served: list[str] = []

        async def ask(name: str, answers: bool) -> None:
            def call(where: str) -> str:
                served.append(f"{name} {where}")
                return name

            at_once = partial(call, "here") if answers else lambda: None
            await threads.for_computing(name, partial(call, "there"), at_once)

        end = threading.Event()
        first = asyncio.create_task(threads.for_computing("a", end.wait))
        await settle()
        waiting = asyncio.create_task(ask("b", False))
        await settle()
        assert served == [], "the only slot is taken"
        await ask("c", True)
        assert served == ["c here"]
        end.set()
        await asyncio.gather(first, waiting)
        assert served == ["c here", "b there"]
        threads.close()

    run(test)


def test_who_works_much_waits_even_where_no_thread_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock(monkeypatch)
        slots = FairSlots(1, 100, rests=True)
        work = Work(slots)
        await work_for(work, clock, "a1", 3.0)
        assert slots.may_pass("a"), "nobody else is there"
        await work_for(work, clock, "b1", 0.1)
        assert slots.may_pass("b")
        assert not slots.may_pass("a")
        await work_for(work, clock, "a2", 1.0)
        assert not slots.may_pass("a"), "it rests"
        slots.count("b", asyncio.get_running_loop().time() - 20.0)
        assert not slots.may_pass("b"), "what took no slot counts as well"

    run(test)


def test_who_waits_already_passes_nobody() -> None:
    async def test() -> None:
        work = Work(FairSlots(1, 100))
        await work.ask("a1", "b1")
        assert work.served == ["a1"]
        assert not work.slots.may_pass("b"), "what came before has not had its turn"
        await work.end_one_by_one()

    run(test)
