"""The values used last stay, up to a number of bytes, and the one that was not used longest goes first."""

from memstow.api.lru import Recent

OVERHEAD = 500


def of(values: int) -> Recent[str, bytes]:
    """Room for so many values of ten bytes, to the byte."""
    return Recent(values * (10 + OVERHEAD), lambda _key, value: len(value))


def test_as_many_are_kept_as_there_is_room_for() -> None:
    recent = of(3)
    for name in "abc":
        recent.keep(name, bytes(10))
    assert [recent.find(name) for name in "abc"] == [bytes(10)] * 3
    recent.keep("d", bytes(10))
    assert recent.find("a") is None
    assert recent.find("d") == bytes(10)


def test_what_is_asked_for_stays() -> None:
    recent = of(2)
    recent.keep("a", bytes(10))
    recent.keep("b", bytes(10))
    assert recent.find("a") is not None
    recent.keep("c", bytes(10))
    assert recent.find("a") is not None
    assert recent.find("b") is None


def test_a_value_that_is_kept_again_takes_its_room_once() -> None:
    recent = of(2)
    for _ in range(5):
        recent.keep("a", bytes(10))
    recent.keep("b", bytes(10))
    assert recent.find("a") is not None
    assert recent.find("b") is not None


def test_what_is_larger_than_all_the_room_drives_nothing_out() -> None:
    recent = of(1)
    recent.keep("a", bytes(10))
    recent.keep("b", bytes(11))
    assert recent.find("a") is not None
    assert recent.find("b") is None
