"""The sample firmware, built by Make and by Meson."""

from tests.examples.building import Sample, tool

OBJECTS = ("*.o",)
RIGHT = "51 peaks in 1024 + 1024 bytes instead of 4352"


def test_make_plans_when_the_problem_has_changed_and_only_then(sample: Sample) -> None:
    said = sample.run("make", "check")
    assert RIGHT in said
    assert "no live buffer is overwritten" in said
    assert "Nothing to be done" in sample.run("make")
    objects = sample.times(*OBJECTS)
    sample.touch()
    assert "memstow solve" in sample.run("make")
    assert sample.times(*OBJECTS) == objects
    assert "Nothing to be done" in sample.run("make")
    sample.change()
    assert "memstow solve" in sample.run("make", "check")
    after = sample.times(*OBJECTS)
    assert all(after[name] > before for name, before in objects.items())
    assert "Nothing to be done" in sample.run("make")


def test_meson_plans_when_the_problem_has_changed_and_only_then(sample: Sample) -> None:
    tool("ninja")
    sample.run("meson", "setup", "build")
    said = sample.run("meson", "test", "-C", "build", "--verbose")
    assert RIGHT in said
    assert "no work to do" in sample.run("ninja", "-C", "build")
    objects = sample.times(*OBJECTS)
    sample.touch()
    sample.run("ninja", "-C", "build")
    assert sample.times(*OBJECTS) == objects
    sample.change()
    sample.run("meson", "test", "-C", "build")
    after = sample.times(*OBJECTS)
    assert all(after[name] > before for name, before in objects.items())
    sample.run("ninja", "-C", "build")
    assert "no work to do" in sample.run("ninja", "-C", "build")
