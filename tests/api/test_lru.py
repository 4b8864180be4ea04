"""The values used last stay, up to a number of bytes, and the one that was not used longest goes first."""

from memstow.api.process_memory import LruCache

OVERHEAD = 500


def of(values: int) -> LruCache[str, bytes]:
    """Room for so many values of ten bytes, to the byte."""
    return LruCache(values * (10 + OVERHEAD), lambda _key, value: len(value))


def test_as_many_are_kept_as_there_is_room_for() -> None:
    recent = of(3)
    for name in "abc":
        recent.put(name, bytes(10))
    assert [recent.get(name) for name in "abc"] == [bytes(10)] * 3
    recent.put("d", bytes(10))
    assert recent.get("a") is None
    assert recent.get("d") == bytes(10)


def test_what_is_asked_for_stays() -> None:
    recent = of(2)
    recent.put("a", bytes(10))
    recent.put("b", bytes(10))
    assert recent.get("a") is not None
    recent.put("c", bytes(10))
    assert recent.get("a") is not None
    assert recent.get("b") is None


def test_a_value_that_is_kept_again_takes_its_room_once() -> None:
    recent = of(2)
    for _ in range(5):
        recent.put("a", bytes(10))
    recent.put("b", bytes(10))
    assert recent.get("a") is not None
    assert recent.get("b") is not None


def test_what_is_larger_than_all_the_room_drives_nothing_out() -> None:
    recent = of(1)
    recent.put("a", bytes(10))
    recent.put("b", bytes(11))
    assert recent.get("a") is not None
    assert recent.get("b") is None


def test_one_owner_fills_half_and_drives_out_only_its_own() -> None:
    recent = of(4)
    recent.put("theirs", bytes(10), "two")
    for name in "abc":
        recent.put(name, bytes(10), "one")
    assert [recent.get(name) is not None for name in "abc"] == [False, True, True]
    assert recent.get("theirs") is not None
    recent.put("b", bytes(10), "two")
    recent.put("d", bytes(10), "one")
    assert recent.get("c") is not None, "b is no longer counted as that of the first"


def test_of_all_owners_together_the_least_recently_used_goes_first() -> None:
    recent = of(3)
    for owner in ("one", "two", "three"):
        recent.put(owner, bytes(10), owner)
    assert recent.get("one") is not None
    recent.put("four", bytes(10), "four")
    assert recent.get("two") is None
    assert recent.get("one") is not None
